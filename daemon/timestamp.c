/* timestamp - a time as text, RFC 3339 in UTC. */
#include "daemon/timestamp.h"

#include <stdbool.h>
#include <stdio.h>

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month] + (month == 1 && is_leap(year) ? 1U : 0U);
}

void timestamp_format(uint64_t ns, char dst[static TIMESTAMP_MAX])
{
    uint64_t ms = ns / 1000000, day = ms / 86400000;
    unsigned second = (unsigned)(ms / 1000 % 86400), year = 1970, month = 0;

    for (; day >= (is_leap(year) ? 366U : 365U); year++)
        day -= is_leap(year) ? 366 : 365;
    for (; day >= days_in_month(year, month); month++)
        day -= days_in_month(year, month);
    snprintf(dst, TIMESTAMP_MAX, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", year, month + 1,
             (unsigned)day + 1, second / 3600, second / 60 % 60, second % 60,
             (unsigned)(ms % 1000));
}
