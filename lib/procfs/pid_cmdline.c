/*
 * pid_cmdline - arguments split at NULs.
 *
 * A cmdline at its end has a NULL pointer, so that an empty last argument cannot be taken twice.
 */
#include "procfs/pid_cmdline.h"

struct cmdline pid_cmdline_parse(struct span text)
{
    while (text.n > 0 && text.p[text.n - 1] == '\0')
        text.n--;
    if (text.n == 0)
        text.p = NULL;
    return (struct cmdline){text};
}

bool pid_cmdline_next(struct cmdline *rest, struct span *ret)
{
    struct span text = rest->text;
    const char *nul;

    if (!text.p)
        return false;
    nul = memchr(text.p, '\0', text.n);
    if (!nul) {
        *ret = text;
        rest->text = span_of(NULL, 0);
        return true;
    }
    *ret = span_of(text.p, (size_t)(nul - text.p));
    rest->text = span_skip(text, ret->n + 1);
    return true;
}

void pid_cmdline_join(struct cmdline cmdline, char *to)
{
    for (size_t i = 0; i < cmdline.text.n; i++)
        to[i] = cmdline.text.p[i] == '\0' ? ' ' : cmdline.text.p[i];
}

static struct span pid_cmdline_first_word(struct span title)
{
    const char *blank = memchr(title.p, ' ', title.n);

    if (!blank)
        return title;
    title.n = (size_t)(blank - title.p);
    if (title.n > 0 && title.p[title.n - 1] == ':')
        title.n--;
    return title;
}

struct span pid_cmdline_program(struct cmdline cmdline)
{
    struct span program;

    if (!pid_cmdline_next(&cmdline, &program) || program.n == 0)
        return span_of(NULL, 0);
    if (!cmdline.text.p)
        program = pid_cmdline_first_word(program);
    return program.n > 1 && program.p[0] == '-' ? span_skip(program, 1) : program;
}

int pid_cmdline_read(struct procfs *fs, int dir, struct cmdline *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "cmdline", PROCFS_HEAD, PID_CMDLINE_MAX, &text);
    if (r < 0)
        return r;
    *ret = pid_cmdline_parse(text);
    return 0;
}
