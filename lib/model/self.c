/* self - label values of the daemon's own families. */
#include "model/self.h"

const char *phase_name(enum phase phase)
{
    static const char *const names[PHASE_N] = {
        [PHASE_COLLECT] = "collect",
        [PHASE_TRACK] = "track",
        [PHASE_RENDER] = "render",
    };

    return names[phase];
}

const char *cycle_failure_name(enum cycle_failure reason)
{
    static const char *const names[CYCLE_FAILURE_N] = {
        [CYCLE_FAILURE_PROCFS] = "procfs",
        [CYCLE_FAILURE_DESCRIPTORS] = "descriptors",
        [CYCLE_FAILURE_MEMORY] = "memory",
        [CYCLE_FAILURE_BUSY] = "busy",
    };

    return names[reason];
}

const char *http_path_name(enum http_path path)
{
    static const char *const names[HTTP_PATH_N] = {
        [HTTP_PATH_METRICS] = "/metrics",   [HTTP_PATH_ROOT] = "/",
        [HTTP_PATH_HEALTHY] = "/-/healthy", [HTTP_PATH_READY] = "/-/ready",
        [HTTP_PATH_OTHER] = "other",
    };

    return names[path];
}

const char *http_code_name(enum http_code code)
{
    static const char *const names[HTTP_CODE_N] = {
        [HTTP_CODE_200] = "200", [HTTP_CODE_400] = "400", [HTTP_CODE_404] = "404",
        [HTTP_CODE_405] = "405", [HTTP_CODE_413] = "413", [HTTP_CODE_414] = "414",
        [HTTP_CODE_431] = "431", [HTTP_CODE_500] = "500", [HTTP_CODE_503] = "503",
        [HTTP_CODE_505] = "505",
    };

    return names[code];
}
