#pragma once
/*
 * target - what a request asks for: the escapes of its path, and where that leads.
 *
 * Pure functions of strings that anybody may have sent.
 */
#include "model/self.h"

#include <stddef.h>

/*
 * Decodes %XX in place, but %00: paths are strings, and one that ends early would be another path.
 * What is no escape stays as it is. Returns the new length.
 */
size_t target_unescape(char *s);

/* Where a path leads, decoded once; HTTP_PATH_OTHER: nowhere. */
enum http_path target_path(const char *path, const char *telemetry_path);
