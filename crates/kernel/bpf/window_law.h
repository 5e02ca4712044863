/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* A law that is two formulas as a congestion control: up for each acknowledgement, down once per
 * recovery epoch. Slow start, proportional rate reduction and the epochs are the kernel's.
 *
 * To be included with LAW (its name as a symbol), NAME (as a string), and the law's header.
 */
#include "kernel.h"

#define SETTINGS struct OF(settings)

struct connection {
	struct LAW law;
	struct LAW before_epoch;
	u64 window;       /* with 32 bits behind the point */
	u64 window_before_epoch;
	u32 delivered;    /* tp->delivered as last looked at */
	u32 round_ends;   /* sequence number */
};

#include "connection.h"

/* Takes over a window that the kernel has changed; the fraction is ours. */
static __always_inline void follow(const struct tcp_sock *tp, struct connection *c)
{
	if (c->window >> 32 != tp->snd_cwnd)
		c->window = clamped(tp->snd_cwnd * ONE, ONE, MOST_WINDOW);
}

/* tcp_is_cwnd_limited of include/net/tcp.h. */
static __always_inline int is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct connection *c = new_connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c)
		return;
	OF(start)(asked(), &c->law);
	c->before_epoch = c->law;
	c->window = c->window_before_epoch = clamped(tp->snd_cwnd * ONE, ONE, MOST_WINDOW);
	c->delivered = tp->delivered;
	c->round_ends = tp->snd_nxt;
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct event e = {};

	if (!c) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!is_cwnd_limited(tp))
		return;
#ifndef STARTS_ITSELF
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
#endif
	follow(tp, c);
	e.now = tp->tcp_mstamp;
	e.acked = least(acked, MOST_ACKED);
	c->window = clamped(OF(increase)(asked(), &c->law, &e, c->window), ONE, MOST_WINDOW);
	tp->snd_cwnd = least(c->window >> 32, tp->snd_cwnd_clamp);
}

SEC("struct_ops")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c)
		return tcp_reno_ssthresh(sk);
	follow(tp, c);
	c->before_epoch = c->law;
	c->window_before_epoch = c->window;
	c->window = most(OF(decrease)(asked(), &c->law, tp->tcp_mstamp, c->window), 2 * ONE);
	return c->window >> 32;
}

SEC("struct_ops")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct connection *c = connection(sk);

	if (c) {
		c->law = c->before_epoch;
		c->window = c->window_before_epoch;
	}
	return tcp_reno_undo_cwnd(sk);
}

#ifdef OBSERVES
SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct event e = {};

	if (!c)
		return;
	follow(tp, c);
	e.now = tp->tcp_mstamp;
	e.acked = least(tp->delivered - c->delivered, MOST_ACKED);
	e.rtt = sample->rtt_us > 0 ? sample->rtt_us : 0;
	e.least = tp->rtt_min.s[0].v;
	e.recovers = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) != TCP_CA_Open;
	e.round = before(c->round_ends, tp->snd_una);
	c->delivered = tp->delivered;
	if (e.round)
		c->round_ends = tp->snd_nxt;
	OF(observe)(asked(), &c->law, &e, c->window);
}
#endif

#ifdef FORGETS
SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, u8 state)
{
	struct connection *c = connection(sk);

	if (c && state == TCP_CA_Loss)
		OF(forget)(asked(), &c->law);
}
#endif

#ifdef RESTARTS
SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, int event)
{
	struct connection *c = connection(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 idle;

	if (!c || event != CA_EVENT_TX_START)
		return;
	idle = (u32)bpf_jiffies64() - tp->lsndtime;
	if (idle > 0 && idle > (s32)tp->inet_conn.icsk_rto)
		OF(restart)(asked(), &c->law, (u64)idle * 1000000 / CONFIG_HZ);
}
#endif

SEC(".struct_ops.link")
struct tcp_congestion_ops law = {
	.name = NAME,
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)init,
	.cong_avoid = (void *)cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
#ifdef OBSERVES
	.pkts_acked = (void *)pkts_acked,
#endif
#ifdef FORGETS
	.set_state = (void *)set_state,
#endif
#ifdef RESTARTS
	.cwnd_event = (void *)cwnd_event,
#endif
};
