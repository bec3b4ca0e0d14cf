#pragma once
/*
 * self - what the daemon measures of itself: the process_* families.
 *
 * Read from /proc always, whatever procfs is watched: a mount of another namespace knows this
 * process by another number, or not at all.
 */
#include "model/self.h"
#include "procfs/procfs.h"

#include <stdint.h>

struct self_reader {
    struct procfs procfs; /* root -1: there is no /proc to read */
    bool have_boot_time;
    uint64_t boot_time_seconds;
};

/* Never fails: what cannot be read later is left out. */
void self_reader_init(struct self_reader *r, uint32_t ticks_per_second, uint32_t page_size);
void self_reader_deinit(struct self_reader *r);

/* Sets the process fields of ret and their bits. */
void self_read(struct self_reader *r, struct self *ret);
