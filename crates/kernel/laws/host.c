/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* The laws as functions of this machine, for the tests. */
#include "bic.h"
#include "etcp.h"
#include "etcp_rate.h"
#include "fast.h"
#include "highspeed.h"
#include "htcp.h"
#include "ltcp.h"
#include "scalable.h"

u64 nw_log2(u64 x)
{
	return log2_of(x, 32);
}

u64 nw_exp2(u64 x)
{
	return exp2_of(x);
}

u64 nw_ratio(u64 a, u64 b)
{
	return ratio(a, b);
}

/* A law of two formulas; what it does not do is null. */
struct window_law {
	u64 settings, state; /* bytes */
	void (*start)(const void *settings, void *law);
	u64 (*increase)(const void *settings, void *law, const struct event *e, u64 window);
	u64 (*decrease)(const void *settings, void *law, u64 now, u64 window);
	void (*observe)(const void *settings, void *law, const struct event *e, u64 window);
	void (*forget)(const void *settings, void *law);
	void (*restart)(const void *settings, void *law, u64 idle);
};

/* One of E-TCP's. */
struct paced_law {
	u64 settings, state; /* bytes */
	void (*start)(const void *settings, void *law, u64 window, u32 past_threshold);
	void (*ack)(const void *settings, void *law, const struct event *e, u32 is_new);
	void (*loss)(const void *settings, void *law, u32 rtt);
	void (*timeout)(const void *settings, void *law, u32 opens, u32 rtt);
	u64 (*window)(const void *law, u32 rtt);
};

#define WINDOW_LAW(law, ...)                                                               \
	static void law##_s(const void *s, void *l) { law##_start(s, l); }                 \
	static u64 law##_i(const void *s, void *l, const struct event *e, u64 w)           \
	{                                                                                  \
		return law##_increase(s, l, e, w);                                         \
	}                                                                                  \
	static u64 law##_d(const void *s, void *l, u64 now, u64 w)                         \
	{                                                                                  \
		return law##_decrease(s, l, now, w);                                       \
	}                                                                                  \
	const struct window_law nw_##law = {                                               \
		sizeof(struct law##_settings), sizeof(struct law),                         \
		law##_s, law##_i, law##_d, __VA_ARGS__                                     \
	};

#define PACED_LAW(law)                                                                     \
	static void law##_s(const void *s, void *l, u64 w, u32 past)                       \
	{                                                                                  \
		law##_start(s, l, w, past);                                                \
	}                                                                                  \
	static void law##_a(const void *s, void *l, const struct event *e, u32 is_new)     \
	{                                                                                  \
		law##_ack(s, l, e, is_new);                                                \
	}                                                                                  \
	static void law##_l(const void *s, void *l, u32 rtt) { law##_loss(s, l, rtt); }    \
	static void law##_t(const void *s, void *l, u32 opens, u32 rtt)                    \
	{                                                                                  \
		law##_timeout(s, l, opens, rtt);                                           \
	}                                                                                  \
	static u64 law##_w(const void *l, u32 rtt) { return law##_window(l, rtt); }        \
	const struct paced_law nw_##law = {                                                \
		sizeof(struct etcp_settings), sizeof(struct law),                          \
		law##_s, law##_a, law##_l, law##_t, law##_w                                \
	};

static void fast_o(const void *s, void *l, const struct event *e, u64 w)
{
	fast_observe(s, l, e, w);
}

static void htcp_o(const void *s, void *l, const struct event *e, u64 w)
{
	htcp_observe(s, l, e, w);
}

static void htcp_r(const void *s, void *l, u64 idle)
{
	htcp_restart(s, l, idle);
}

static void bic_f(const void *s, void *l)
{
	bic_forget(s, l);
}

WINDOW_LAW(bic, 0, bic_f, 0)
WINDOW_LAW(fast, fast_o, 0, 0)
WINDOW_LAW(highspeed, 0, 0, 0)
WINDOW_LAW(htcp, htcp_o, 0, htcp_r)
WINDOW_LAW(ltcp, 0, 0, 0)
WINDOW_LAW(scalable, 0, 0, 0)
PACED_LAW(etcp)
PACED_LAW(etcp_rate)
