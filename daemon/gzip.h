#pragma once
/* gzip - one whole buffer compressed at a time. The only user of libdeflate. */
#include "base/buf.h"
#include "base/span.h"

#include <stdint.h>

struct gzip;

/* A compressor with all the memory it needs; NULL when out of memory. For one thread at a time. */
struct gzip *gzip_new(void);
struct gzip *gzip_free(struct gzip *gzip);

/* Appends a gzip member with all of data; on lack of room the buffer latches. */
void gzip_append(struct gzip *gzip, struct span data, struct buf *out);

/* The checksum of that format, CRC-32, for other data. */
uint32_t gzip_crc32(struct span data);
