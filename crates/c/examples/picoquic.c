/* picoquic, a QUIC stack in C, judged in narrows' networks: `./picoquic cubic cubic D1,T1`. Its
 * functions take the time as an argument, microseconds that must not be 0; docs/hosts.md says how it is
 * built. CERTIFICATE and KEY name PEM files of an RSA key. */
#include "judge.h"
#include <picotls.h>
#include <picoquic.h>
#include <picoquic_crypto_provider_api.h>
#include <picoquic_internal.h>
#include <stdlib.h>
#include <tls_api.h>

#define BASE UINT64_C(1000000) /* microseconds at time 0 */

struct end {
	picoquic_quic_t *quic;
	const struct narrows_offers *offers;
	int is_near, has_begun, is_ready, is_complete;
	uint64_t micros, nanos, size, written, delivered;
	struct sockaddr_in here, there;
	char ended[64];
};

/* The stream that data goes over: the client's first of one direction. */
#define STREAM 2

/* Writes what there is, or waits. */
static int write_some(struct end *it, uint8_t *context, size_t room)
{
	uint64_t more = ready(it->offers, it->nanos, it->size, it->written);
	size_t taken = more < room ? (size_t)more : room;
	int ends = it->size != 0 && it->written + taken == it->size;
	int goes_on = !ends && more > taken;
	uint8_t *bytes = picoquic_provide_stream_data_buffer(context, taken, ends, goes_on);
	if (!bytes)
		return -1;
	memset(bytes, 0, taken);
	it->written += taken;
	return 0;
}

static int event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
		 picoquic_call_back_event_t what, void *context, void *stream_context)
{
	struct end *it = context;
	(void)stream, (void)stream_context;
	switch (what) {
	case picoquic_callback_ready:
		it->is_ready = 1;
		break;
	case picoquic_callback_prepare_to_send:
		return write_some(it, bytes, length);
	case picoquic_callback_stream_fin:
		it->is_complete = 1;
		it->delivered += length;
		break;
	case picoquic_callback_stream_data:
		it->delivered += length;
		break;
	case picoquic_callback_close:
	case picoquic_callback_application_close:
	case picoquic_callback_stateless_reset:
		snprintf(it->ended, sizeof it->ended, "local error %llx, remote error %llx",
			 (unsigned long long)connection->local_error,
			 (unsigned long long)connection->remote_error);
		break;
	default:
		break;
	}
	return 0;
}

/* The time is `now`; if there is something to write, the stream is asked for it. */
static void set(struct end *it, uint64_t now)
{
	it->nanos = now;
	it->micros = BASE + (now + 999) / 1000;
	picoquic_cnx_t *connection = picoquic_get_first_cnx(it->quic);
	int ends_empty = it->size != 0 && it->written == it->size;
	if (it->is_near && it->is_ready && connection && !ends_empty &&
	    ready(it->offers, now, it->size, it->written) > 0)
		picoquic_mark_active_stream(connection, STREAM, 1, NULL);
}

static void handle(void *state, uint64_t now, const uint8_t *datagram, size_t length, uint8_t ecn)
{
	struct end *it = state;
	uint8_t copy[PICOQUIC_MAX_PACKET_SIZE];
	if (length > sizeof copy)
		return;
	set(it, now);
	memcpy(copy, datagram, length);
	picoquic_incoming_packet(it->quic, copy, length, (struct sockaddr *)&it->there,
				 (struct sockaddr *)&it->here, 0, ecn, it->micros);
	set(it, now);
}

/* Its timers go off when it is asked for what leaves. */
static void handle_timeout(void *state, uint64_t now)
{
	struct end *it = state;
	set(it, now);
	if (it->is_near && !it->has_begun &&
	    !picoquic_create_client_cnx(it->quic, (struct sockaddr *)&it->there, it->micros, 0,
					"test.example.com", "bulk", event, it))
		snprintf(it->ended, sizeof it->ended, "picoquic made no connection");
	it->has_begun = 1;
}

static size_t poll_transmit(void *state, uint64_t now, uint8_t *datagram, size_t room,
			    struct narrows_transmit *transmit)
{
	struct end *it = state;
	size_t length = 0;
	struct sockaddr_storage to, from;
	int interface;
	picoquic_connection_id_t id;
	picoquic_cnx_t *last = NULL;
	set(it, now);
	room = room < LARGEST ? room : LARGEST;
	if (picoquic_prepare_next_packet(it->quic, it->micros, datagram, room, &length, &to, &from,
					 &interface, &id, &last) != 0)
		return 0;
	/* Its sockets set ECT(1) or ECT(0) by the controller, see picoquic_prepare_next_packet_ex. */
	(void)transmit;
	return length;
}

static uint64_t poll_timeout(void *state)
{
	struct end *it = state;
	uint64_t next = NARROWS_NEVER;
	if (it->is_near && !it->has_begun)
		return 0;
	if (it->is_near && it->is_ready && it->offers)
		narrows_offered(it->offers, it->nanos, &next);
	uint64_t wakes = picoquic_get_next_wake_time(it->quic, it->micros);
	if (wakes == UINT64_MAX)
		return next;
	wakes = wakes <= BASE ? 0 : (wakes - BASE) * 1000;
	return wakes < next ? wakes : next;
}

static void tell(void *state, struct narrows_told *told)
{
	struct end *it = state;
	picoquic_cnx_t *connection = picoquic_get_first_cnx(it->quic);
	told->delivered = it->delivered;
	told->complete = (uint8_t)it->is_complete;
	told->ended = it->ended[0] ? it->ended : NULL;
	if (!connection)
		return;
	picoquic_path_quality_t path;
	picoquic_get_default_path_quality(connection, &path);
	told->window = path.cwin;
	told->in_flight = path.bytes_in_transit;
	told->rtt = path.rtt * 1000;
	told->lost = path.lost + 1;
}

static void drop(void *state)
{
	struct end *it = state;
	picoquic_free(it->quic);
	free(it);
}

static picoquic_quic_t *endpoint(struct end *it, uint64_t seed, const char *cc)
{
	uint8_t secret[PICOQUIC_RESET_SECRET_SIZE] = { 1, (uint8_t)it->is_near };
	const char *certificate = it->is_near ? NULL : getenv("CERTIFICATE");
	const char *key = it->is_near ? NULL : getenv("KEY");
	picoquic_quic_t *quic = picoquic_create(8, certificate, key, NULL, "bulk", event, it, NULL, NULL,
						secret, BASE, &it->micros, NULL, NULL, 0);
	if (!quic)
		return NULL;
	picoquic_public_random_seed_64(seed | 1, 1);
	picoquic_set_null_verifier(quic);
	picoquic_set_default_congestion_algorithm_by_name(quic, cc);
	picoquic_set_default_tp_value(quic, picoquic_tp_initial_max_data, WINDOW);
	picoquic_set_default_tp_value(quic, picoquic_tp_initial_max_stream_data_uni, WINDOW);
	return quic;
}

static int make(void *context, uint64_t seed, uint64_t size, struct narrows_endpoint *near_end,
		struct narrows_endpoint *far_end)
{
	seed_numbers(seed);
	picoquic_tls_api_init();
	picoquic_register_crypto_random_provider_fn(next_numbers);
	for (int is_near = 0; is_near < 2; is_near++) {
		struct end *it = calloc(1, sizeof *it);
		if (!it)
			return -1;
		it->is_near = is_near;
		it->size = size;
		it->micros = BASE;
		it->here = address(is_near);
		it->there = address(!is_near);
		it->offers = is_near ? narrows_offers() : NULL;
		it->quic = endpoint(it, seed, context);
		if (!it->quic) {
			free(it);
			return -1;
		}
		*(is_near ? near_end : far_end) =
			(struct narrows_endpoint){ it,		  handle, handle_timeout, poll_transmit,
						   poll_timeout, tell,	  drop };
	}
	return 0;
}

int main(int count, char **arguments)
{
	if (count != 4) {
		fprintf(stderr, "usage: %s newreno|cubic|bbr|bbr1|prague PROFILE CHECKS\n",
			arguments[0]);
		return 2;
	}
	picoquic_tls_api_init();
	picoquic_register_all_congestion_control_algorithms();
	return judge("picoquic", make, arguments[1], arguments[2], arguments[3]);
}
