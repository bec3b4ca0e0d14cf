#pragma once
/*
 * source - the bpf source, where it is built and in use; else nothing. Takes NULL everywhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_source;

/* See bpf_source_drain(), bpf_source_is_full(), bpf_source_pause() and bpf_source_lost(). */
void source_drain(struct bpf_source *s, uint64_t now_ns);
bool source_is_full(const struct bpf_source *s);
void source_pause(struct bpf_source *s);
uint64_t source_lost(const struct bpf_source *s);

/* A descriptor that polls readable when it is time to drain; -1: there is none. */
int source_fd(const struct bpf_source *s);
