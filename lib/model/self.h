#pragma once
/*
 * self - what the daemon tells of itself in one snapshot.
 *
 * Filled by the daemon, rendered by lib/expose. Durations are in nanoseconds, times in
 * nanoseconds since the epoch. Strings are not owned and outlive every snapshot.
 */
#include "model/faults.h"
#include "model/parts.h"
#include "model/sample.h"

#include <stdbool.h>
#include <stdint.h>

enum phase {
    PHASE_COLLECT,
    PHASE_TRACK,
    PHASE_RENDER, /* of the snapshot before: this one is not rendered yet */
    PHASE_N,
};

/* Why a cycle published nothing. */
enum cycle_failure {
    CYCLE_FAILURE_PROCFS,      /* the list of processes could not be read, or was empty */
    CYCLE_FAILURE_DESCRIPTORS, /* EMFILE, ENFILE */
    CYCLE_FAILURE_MEMORY,
    CYCLE_FAILURE_BUSY, /* every snapshot slot was in use by a renderer */
    CYCLE_FAILURE_N,
};

/* Paths and codes of proctally_http_requests_total; unknown paths are one. */
enum http_path {
    HTTP_PATH_METRICS,
    HTTP_PATH_ROOT,
    HTTP_PATH_HEALTHY,
    HTTP_PATH_READY,
    HTTP_PATH_OTHER,
    HTTP_PATH_N,
};

enum http_code {
    HTTP_CODE_200,
    HTTP_CODE_400,
    HTTP_CODE_404,
    HTTP_CODE_405,
    HTTP_CODE_413,
    HTTP_CODE_414,
    HTTP_CODE_431,
    HTTP_CODE_500,
    HTTP_CODE_503,
    HTTP_CODE_505,
    HTTP_CODE_N,
};

/* The standard process_* families, of the daemon itself. A bit of `have` per field. */
enum self_process_field {
    SELF_CPU_NS,
    SELF_OPEN_FDS,
    SELF_MAX_FDS,
    SELF_VIRTUAL_BYTES,
    SELF_VIRTUAL_MAX_BYTES,
    SELF_RESIDENT_BYTES,
    SELF_START_TIME_NS,
    SELF_THREADS,
    SELF_PROCESS_FIELD_N,
};

struct self {
    const char *version;
    const char *revision;
    const char *libmicrohttpd_version;
    const char *source;        /* "procfs" or "bpf" */
    const char *source_reason; /* a fixed word: why this source */

    uint64_t snapshot_time_ns; /* wall clock at the end of collection */
    uint64_t phase_ns[PHASE_N];
    uint64_t interval_ns; /* in effect; 0: there is none (--once) */
    uint64_t snapshots;   /* published, this one included */
    uint64_t failures[CYCLE_FAILURE_N];

    uint64_t processes;
    uint64_t excluded_processes;
    uint64_t pending_processes;
    uint64_t quarantined_processes;
    uint64_t unread_processes[PART_N];
    bool reads_threads;  /* of some group */
    uint32_t rule_parts; /* that rules have read: 1 << enum part */
    uint64_t read_faults[FAULT_FILE_N][FAULT_REASON_N];
    uint64_t slow_reads;
    uint64_t steps_back[COUNTER_N];
    uint64_t lost_end_records;
    uint64_t other_assignments;
    uint64_t searches_given_up; /* of command lines, by rules */

    bool reload_successful;
    uint64_t reload_success_time_ns;

    uint64_t http_requests[HTTP_PATH_N][HTTP_CODE_N];

    uint32_t have_process; /* 1 << enum self_process_field */
    uint64_t process[SELF_PROCESS_FIELD_N];
};

const char *phase_name(enum phase phase);
const char *cycle_failure_name(enum cycle_failure reason);
const char *http_path_name(enum http_path path);
const char *http_code_name(enum http_code code);
