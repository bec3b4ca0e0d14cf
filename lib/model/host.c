/* host - label values of the host's columns. */
#include "model/host.h"

const char *cpu_mode_name(enum cpu_mode mode)
{
    static const char *const names[CPU_MODE_N] = {
        [CPU_USER] = "user",       [CPU_NICE] = "nice",
        [CPU_SYSTEM] = "system",   [CPU_IDLE] = "idle",
        [CPU_IOWAIT] = "iowait",   [CPU_IRQ] = "irq",
        [CPU_SOFTIRQ] = "softirq", [CPU_STEAL] = "steal",
        [CPU_GUEST] = "guest",     [CPU_GUEST_NICE] = "guest_nice",
    };

    return names[mode];
}

const char *softirq_name(enum softirq vector)
{
    static const char *const names[SOFTIRQ_N] = {
        [SOFTIRQ_HI] = "hi",           [SOFTIRQ_TIMER] = "timer", [SOFTIRQ_NET_TX] = "net_tx",
        [SOFTIRQ_NET_RX] = "net_rx",   [SOFTIRQ_BLOCK] = "block", [SOFTIRQ_IRQ_POLL] = "irq_poll",
        [SOFTIRQ_TASKLET] = "tasklet", [SOFTIRQ_SCHED] = "sched", [SOFTIRQ_HRTIMER] = "hrtimer",
        [SOFTIRQ_RCU] = "rcu",
    };

    return names[vector];
}
