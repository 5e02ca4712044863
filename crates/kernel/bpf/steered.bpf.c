/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
/* A congestion control that a process steers: it tells what happens, and does what was answered to
 * it last, from the next acknowledgement or timeout on (Narayan et al., SIGCOMM 2018, have congestion
 * control outside of the datapath so). The law's window counts in recoveries, too.
 */
#include "kernel.h"

/* 200,000 happenings. */
#define ROOM (16 << 20)
#define MOST_CONNECTIONS 4096

enum kind { BEGINS, ACK, TIMEOUT, ENDS };

/* What happened; times are in microseconds unless said, counts in packets. */
struct happening {
	u64 connection; /* which: the address of its socket */
	u64 now;        /* ns, of the monotonic clock */
	u32 kind;
	u32 acked;      /* newly, selectively or not */
	u32 lost;       /* newly */
	u32 marked;     /* newly */
	s32 rtt;        /* a fresh sample; below 0 if there is none */
	u32 srtt;       /* 0 if there is none yet */
	u32 least;      /* 0 if there is none yet */
	u32 in_flight;
	u32 unused;
	u32 delivered;  /* so far */
	u32 sent;       /* so far, again or not */
	u32 of_sample;  /* delivered in its interval */
	u32 interval;   /* of the delivery rate; 0 if it tells nothing */
	u8 limited;     /* by the window */
	u8 recovers;
	u8 opens;       /* a recovery has begun */
	u8 resent;      /* what was answered had left more than once */
};

/* What is to be done. */
struct answer {
	u64 rate;   /* packets a second, with 10 bits behind the point, below 2^40; 0 for none */
	u64 window; /* packets */
};

struct connection {
	u32 lost;
	u32 marked;
	u32 recovers;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ROOM);
} happenings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_CONNECTIONS);
	__type(key, u64);
	__type(value, struct answer);
} answers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

static __always_inline u64 name_of(struct sock *sk)
{
	return (u64)sk;
}

static __always_inline void tell(struct happening *it)
{
	/* Who listens looks every millisecond: there is room. */
	bpf_ringbuf_output(&happenings, it, sizeof(*it), BPF_RB_NO_WAKEUP);
}

static __always_inline struct happening now_of(struct sock *sk, u32 kind)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct happening it = {};

	it.connection = name_of(sk);
	it.now = bpf_ktime_get_ns();
	it.kind = kind;
	it.rtt = -1;
	it.srtt = tp->srtt_us >> 3;
	it.least = it.srtt ? tp->rtt_min.s[0].v : 0;
	it.in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	it.delivered = tp->delivered;
	it.sent = tp->data_segs_out;
	it.limited = tp->is_cwnd_limited;
	return it;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct happening it = now_of(sk, BEGINS);

	if (!c)
		return;
	c->lost = tp->lost;
	c->marked = tp->delivered_ce;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	tell(&it);
}

/* Does what was answered last. */
static __always_inline void heed(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 name = name_of(sk);
	struct answer *answer = bpf_map_lookup_elem(&answers, &name);
	u64 rate;

	if (!answer || !answer->window)
		return;
	tp->snd_cwnd = answer->window < tp->snd_cwnd_clamp ? answer->window : tp->snd_cwnd_clamp;
	rate = answer->rate ? answer->rate * tp->mss_cache >> 10 : sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp_sk(sk);
	struct happening it = now_of(sk, ACK);

	if (!c)
		return;
	it.acked = rs->acked_sacked > 0 ? rs->acked_sacked : 0;
	it.lost = tp->lost - c->lost;
	it.marked = tp->delivered_ce - c->marked;
	it.rtt = rs->rtt_us;
	it.resent = rs->is_retrans;
	if (rs->interval_us > 0 && rs->delivered > 0) {
		it.of_sample = rs->delivered;
		it.interval = rs->interval_us;
	}
	it.recovers = icsk->icsk_ca_state >= TCP_CA_Recovery;
	it.opens = it.recovers && !c->recovers;
	c->lost = tp->lost;
	c->marked = tp->delivered_ce;
	c->recovers = it.recovers;
	tell(&it);
	heed(sk);
}

/* Called when everything is marked lost, and the kernel has set the window to one packet
 * (tcp_enter_loss in net/ipv4/tcp_input.c).
 */
SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, u8 state)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct tcp_sock *tp = tcp_sk(sk);
	struct happening it;

	if (!c || state != TCP_CA_Loss)
		return;
	it = now_of(sk, TIMEOUT);
	it.lost = tp->lost - c->lost;
	c->lost = tp->lost;
	tell(&it);
	heed(sk);
}

SEC("struct_ops")
void BPF_PROG(release, struct sock *sk)
{
	struct happening it = now_of(sk, ENDS);

	bpf_map_delete_elem(&answers, &it.connection);
	tell(&it);
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
	.name = "nw_steered",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)init,
	.release = (void *)release,
	.cong_control = (void *)cong_control,
	.set_state = (void *)set_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
};
