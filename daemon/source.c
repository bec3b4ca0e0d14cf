/* source - the bpf source, where it is built and in use; else nothing. */
#include "daemon/source.h"

#ifdef PROCTALLY_WITH_BPF

#include "bpf/source.h"

void source_drain(struct bpf_source *s, uint64_t now_ns)
{
    if (s)
        bpf_source_drain(s, now_ns);
}

bool source_is_full(const struct bpf_source *s)
{
    return s && bpf_source_is_full(s);
}

void source_pause(struct bpf_source *s)
{
    if (s)
        bpf_source_pause(s);
}

uint64_t source_lost(const struct bpf_source *s)
{
    return s ? bpf_source_lost(s) : 0;
}

int source_fd(const struct bpf_source *s)
{
    return s ? programs_ring_fd(s->programs) : -1;
}

#else

void source_drain(struct bpf_source *s, uint64_t now_ns)
{
    (void)s;
    (void)now_ns;
}

bool source_is_full(const struct bpf_source *s)
{
    return s != NULL;
}

void source_pause(struct bpf_source *s)
{
    (void)s;
}

uint64_t source_lost(const struct bpf_source *s)
{
    (void)s;
    return 0;
}

int source_fd(const struct bpf_source *s)
{
    (void)s;
    return -1;
}

#endif
