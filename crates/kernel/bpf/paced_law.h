/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* E-TCP's laws as a congestion control: each packet lost is answered, and gaps between packets are
 * exponential. The kernel's window is out of the way: it is twice W and 64 packets more. W itself is
 * shown as the slow-start threshold, which nothing else needs.
 *
 * To be included with LAW (its name as a symbol), NAME (as a string), and the law's header.
 */
#include "kernel.h"

#define SETTINGS struct etcp_settings

/* Losses answered in one call at most; the rest wait for the next. */
#define MOST_LOSSES 256
/* Bits of -ln u behind the point, and ln 2 with them. */
#define LOG_BITS 16
#define LN2 45426

/* The shortest gap in ns, and the longest mean gap with 10 bits behind the point: 4 s. */
#define LEAST_GAP 4000
#define LONGEST_GAP (1ull << 42)
/* What is so late, in nanoseconds, is not made up for. */
#define MOST_LATE 250000

struct connection {
	struct LAW law;
	u64 mean_gap;  /* ns, with 10 bits behind the point; 0 until there is an RTT */
	u64 due;       /* when the packet after the next is to leave, ns */
	u32 sent;      /* tp->data_segs_out when that was drawn */
	u32 lost;      /* tp->lost, as far as it has been answered */
	u32 held_until; /* snd_nxt when the first loss was noticed: "s" of E-TCP, §V-A */
	u32 opened;    /* snd_nxt at the last timeout that opened an epoch … */
	u32 is_open;   /* … if what left before it has not arrived yet */
};

#include "connection.h"

/* rtt_scale * rtt / W in ns, with 10 bits behind the point: below 2^44 for an RTT of 10 s, times 100. */
static __always_inline u64 mean_gap(u64 window, u32 rtt)
{
	u64 gap = divided(rtt * 1000ull, window, 42), scale = asked()->rtt_scale;

	return gap * (scale >> 32) + times(gap, scale & (ONE - 1));
}

/* Shows W, and lets twice as much leave. */
static __always_inline void show(struct tcp_sock *tp, struct connection *c)
{
	u32 rtt = tp->srtt_us >> 3;
	u64 window = OF(window)(&c->law, rtt);
	u32 packets = window >> 32;

	tp->snd_ssthresh = packets;
	tp->snd_cwnd = least(2 * packets + 64, tp->snd_cwnd_clamp);
	if (rtt)
		c->mean_gap = mean_gap(window, rtt);
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct connection *c = new_connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c)
		return;
	OF(start)(asked(), &c->law, clamped(tp->snd_cwnd * ONE, ONE, MOST_WINDOW),
		  tp->snd_cwnd >= tp->snd_ssthresh);
	c->lost = tp->lost;
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Losses since the last call. While the law holds, none is answered. */
static __always_inline void answer(struct tcp_sock *tp, struct connection *c, u32 rtt)
{
	u32 lost = tp->lost - c->lost;

	if (!lost)
		return;
	if (c->law.phase == ETCP_STARTS) {
		OF(loss)(asked(), &c->law, rtt);
		c->held_until = tp->snd_nxt;
		c->lost = tp->lost;
		return;
	}
	for (u32 i = 0; i < MOST_LOSSES && i < lost; i++) {
		OF(loss)(asked(), &c->law, rtt);
		c->lost++;
	}
}

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct event e = {};

	if (!c)
		return;
	e.rtt = tp->srtt_us >> 3;
	if (c->is_open && !before(tp->snd_una, c->opened))
		c->is_open = 0;
	answer(tp, c, e.rtt);
	if (rs->acked_sacked > 0 && !rs->is_app_limited) {
		e.acked = least(rs->acked_sacked, MOST_ACKED);
		OF(ack)(asked(), &c->law, &e, before(c->held_until, tp->snd_una));
	}
	show(tp, c);
}

/* Nanoseconds to the packet after the next: exponential. -ln u is below 23. */
static __always_inline u64 draw_gap(const struct connection *c)
{
	u64 u = most(bpf_get_prandom_u32(), 1);
	u64 log = 32 * ONE - log2_of(u << 32, LOG_BITS); /* -log2(u/2^32) */

	log = (log >> (32 - LOG_BITS)) * LN2 >> LOG_BITS;
	return least(c->mean_gap, LONGEST_GAP) * log >> (LOG_BITS + 10);
}

/* Called before each transmission, and when the pacer lets nothing leave: says how long the packet
 * takes, as a rate. Gaps are drawn on a timetable, so that timers that are late do not add up: a
 * machine that needs 20 us to wake up would never send 50,000 packets a second.
 */
SEC("struct_ops")
u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now, takes;

	if (!c || !c->mean_gap)
		return 1;
	now = bpf_ktime_get_ns();
	if (tp->data_segs_out != c->sent) {
		c->sent = tp->data_segs_out;
		c->due = most(c->due, now - MOST_LATE) + draw_gap(c);
	}
	/* A packet must take some time, a small one, too: the kernel rounds it down and may halve it,
	 * and with none at all it would send the whole window before it asks again.
	 */
	takes = c->due > now ? most(c->due - now, LEAST_GAP) : LEAST_GAP;
	sk->sk_pacing_rate = clamped(tp->mss_cache * 1000000000ull / takes, 1,
				     sk->sk_max_pacing_rate);
	return 1;
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, u8 state)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c || state != TCP_CA_Loss)
		return;
	/* What a timeout marks lost is answered by the timeout. The packets of the last one must
	 * have been answered before another opens an epoch.
	 */
	c->lost = tp->lost;
	OF(timeout)(asked(), &c->law, !c->is_open, tp->srtt_us >> 3);
	c->opened = tp->snd_nxt;
	c->is_open = 1;
}

SEC("struct_ops")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops law = {
	.name = NAME,
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.min_tso_segs = (void *)min_tso_segs,
	.set_state = (void *)set_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
};
