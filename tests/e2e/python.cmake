# The system's interpreter first: the packages the tests use are installed for that one.
find_program(PROCTALLY_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PROCTALLY_PYTHON python3)
if(NOT PROCTALLY_PYTHON)
  message(WARNING "no python3: end-to-end tests, cases and checks are left out")
endif()
