/* ngtcp2, a QUIC stack in C, judged in narrows' networks: `./ngtcp2 cubic cubic D1,T1`. Its functions
 * take the time as an argument, and its randomness comes by callbacks; TLS is picotls over OpenSSL.
 * docs/hosts.md says how both are built. CERTIFICATE and KEY name PEM files of an RSA key. */
#include "judge.h"
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_picotls.h>
#include <openssl/pem.h>
#include <picotls.h>
#include <picotls/openssl.h>
#include <stdlib.h>

struct end {
	ngtcp2_conn *connection;
	ngtcp2_crypto_conn_ref reference;
	ngtcp2_crypto_picotls_ctx tls;
	ptls_context_t context;
	ptls_openssl_sign_certificate_t sign;
	ptls_raw_extension_t extensions[2];
	ngtcp2_path path;
	struct sockaddr_in here, there;
	ngtcp2_cc_algo algorithm;
	const struct narrows_offers *offers;
	int is_near, has_begun, has_finished, is_complete;
	int64_t stream;
	uint64_t now, size, written, delivered;
	char ended[80];
};

static ptls_key_exchange_algorithm_t *exchanges[] = { &ptls_openssl_secp256r1, NULL };
static ptls_cipher_suite_t *suites[] = { &ptls_openssl_aes128gcmsha256, NULL };
static ptls_iovec_t protocols[] = { { (uint8_t *)"bulk", 4 } };
static uint8_t zeros[1 << 16];

static uint64_t time_of_day(ptls_get_time_t *self)
{
	(void)self;
	return UINT64_C(1700000000000);
}
static ptls_get_time_t fixed = { time_of_day };

static int choose_protocol(ptls_on_client_hello_t *self, ptls_t *tls,
			   ptls_on_client_hello_parameters_t *hello)
{
	(void)self;
	if (hello->negotiated_protocols.count == 0)
		return PTLS_ALERT_NO_APPLICATION_PROTOCOL;
	ptls_iovec_t *first = hello->negotiated_protocols.list;
	return ptls_set_negotiated_protocol(tls, (char *)first->base, first->len);
}
static ptls_on_client_hello_t on_hello = { choose_protocol };

static void ended(struct end *it, const char *where, int error)
{
	if (!it->ended[0])
		snprintf(it->ended, sizeof it->ended, "%s: %s", where, ngtcp2_strerror(error));
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference)
{
	return ((struct end *)reference->user_data)->connection;
}

static void random_bytes(uint8_t *bytes, size_t length, const ngtcp2_rand_ctx *context)
{
	(void)context;
	next_numbers(bytes, length);
}

static int new_id(ngtcp2_conn *connection, ngtcp2_cid *id, ngtcp2_stateless_reset_token *token,
		  size_t length, void *state)
{
	(void)connection, (void)state;
	next_numbers(id->data, length);
	id->datalen = length;
	next_numbers(token->data, sizeof token->data);
	return 0;
}

static int challenge(ngtcp2_conn *connection, ngtcp2_path_challenge_data *data, void *state)
{
	(void)connection, (void)state;
	next_numbers(data->data, sizeof data->data);
	return 0;
}

static int received(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t offset,
		    const uint8_t *data, size_t length, void *state, void *stream_state)
{
	struct end *it = state;
	(void)offset, (void)data, (void)stream_state;
	it->delivered += length;
	it->is_complete |= (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
	ngtcp2_conn_extend_max_stream_offset(connection, stream, length);
	ngtcp2_conn_extend_max_offset(connection, length);
	return 0;
}

static int has_certificate(struct end *it)
{
	const char *certificate = getenv("CERTIFICATE"), *key = getenv("KEY");
	FILE *file = key ? fopen(key, "r") : NULL;
	EVP_PKEY *private = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
	if (file)
		fclose(file);
	int is_there = private && certificate &&
		       ptls_load_certificates(&it->context, certificate) == 0 &&
		       ptls_openssl_init_sign_certificate(&it->sign, private) == 0;
	it->context.sign_certificate = &it->sign.super;
	EVP_PKEY_free(private);
	return is_there;
}

static void use_tls(struct end *it)
{
	it->reference = (ngtcp2_crypto_conn_ref){ connection_of, it };
	it->context.random_bytes = next_numbers;
	it->context.get_time = &fixed;
	it->context.key_exchanges = exchanges;
	it->context.cipher_suites = suites;
	it->context.require_dhe_on_psk = 1;
	if (it->is_near) {
		ngtcp2_crypto_picotls_configure_client_context(&it->context);
	} else {
		it->context.on_client_hello = &on_hello;
		ngtcp2_crypto_picotls_configure_server_context(&it->context);
		if (!has_certificate(it))
			snprintf(it->ended, sizeof it->ended, "CERTIFICATE and KEY name no PEM files");
	}
	ngtcp2_crypto_picotls_ctx_init(&it->tls);
	it->tls.ptls = it->is_near ? ptls_client_new(&it->context) : ptls_server_new(&it->context);
	*ptls_get_data_ptr(it->tls.ptls) = &it->reference;
	it->extensions[0].type = it->extensions[1].type = UINT16_MAX;
	it->tls.handshake_properties.additional_extensions = it->extensions;
	if (it->is_near) {
		ngtcp2_crypto_picotls_configure_client_session(&it->tls, it->connection);
		it->tls.handshake_properties.client.negotiated_protocols.list = protocols;
		it->tls.handshake_properties.client.negotiated_protocols.count = 1;
		ptls_set_server_name(it->tls.ptls, "localhost", 9);
	} else {
		ngtcp2_crypto_picotls_configure_server_session(&it->tls);
	}
	ngtcp2_conn_set_tls_native_handle(it->connection, &it->tls);
}

static const ngtcp2_callbacks callbacks = {
	.client_initial = ngtcp2_crypto_client_initial_cb,
	.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
	.recv_retry = ngtcp2_crypto_recv_retry_cb,
	.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
	.encrypt = ngtcp2_crypto_encrypt_cb,
	.decrypt = ngtcp2_crypto_decrypt_cb,
	.hp_mask = ngtcp2_crypto_hp_mask_cb,
	.rand = random_bytes,
	.update_key = ngtcp2_crypto_update_key_cb,
	.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
	.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
	.version_negotiation = ngtcp2_crypto_version_negotiation_cb,
	.get_new_connection_id2 = new_id,
	.get_path_challenge_data2 = challenge,
	.recv_stream_data = received,
};

/* Makes the connection; `initial` is what has come, at the far end. */
static void begin(struct end *it, uint64_t now, const ngtcp2_pkt_hd *initial)
{
	ngtcp2_settings settings;
	ngtcp2_transport_params params;
	ngtcp2_cid there = { .datalen = 8 }, here = { .datalen = 8 };
	ngtcp2_settings_default(&settings);
	settings.initial_ts = now;
	settings.cc_algo = it->algorithm;
	settings.max_tx_udp_payload_size = LARGEST;
	settings.max_window = settings.max_stream_window = WINDOW;
	ngtcp2_transport_params_default(&params);
	params.initial_max_streams_uni = 1;
	params.initial_max_data = params.initial_max_stream_data_uni = WINDOW;
	next_numbers(there.data, there.datalen);
	next_numbers(here.data, here.datalen);
	it->path.local = (ngtcp2_addr){ (void *)&it->here, sizeof it->here };
	it->path.remote = (ngtcp2_addr){ (void *)&it->there, sizeof it->there };
	int error;
	if (it->is_near) {
		error = ngtcp2_conn_client_new(&it->connection, &there, &here, &it->path,
					       NGTCP2_PROTO_VER_V1, &callbacks, &settings, &params,
					       NULL, it);
	} else {
		params.original_dcid = initial->dcid;
		params.original_dcid_present = 1;
		error = ngtcp2_conn_server_new(&it->connection, &initial->scid, &here, &it->path,
					       initial->version, &callbacks, &settings, &params, NULL,
					       it);
	}
	if (error)
		ended(it, "new", error);
	else
		use_tls(it);
}

static void handle(void *state, uint64_t now, const uint8_t *datagram, size_t length, uint8_t ecn)
{
	struct end *it = state;
	ngtcp2_pkt_info info = { .ecn = ecn };
	ngtcp2_pkt_hd initial;
	it->now = now;
	if (!it->connection && ngtcp2_accept(&initial, datagram, length) == 0)
		begin(it, now, &initial);
	if (!it->connection || it->ended[0])
		return;
	int error = ngtcp2_conn_read_pkt(it->connection, &it->path, &info, datagram, length, now);
	if (error)
		ended(it, "read_pkt", error);
}

static void handle_timeout(void *state, uint64_t now)
{
	struct end *it = state;
	it->now = now;
	if (it->is_near && !it->has_begun)
		begin(it, now, NULL);
	it->has_begun = 1;
	if (!it->connection || it->ended[0] || ngtcp2_conn_get_expiry(it->connection) > now)
		return;
	int error = ngtcp2_conn_handle_expiry(it->connection, now);
	if (error)
		ended(it, "handle_expiry", error);
}

static size_t poll_transmit(void *state, uint64_t now, uint8_t *datagram, size_t room,
			    struct narrows_transmit *transmit)
{
	struct end *it = state;
	ngtcp2_path_storage path;
	ngtcp2_pkt_info info;
	ngtcp2_ssize length;
	if (!it->connection || it->ended[0])
		return 0;
	if (it->is_near && it->stream < 0 && ngtcp2_conn_get_handshake_completed(it->connection) &&
	    ngtcp2_conn_open_uni_stream(it->connection, &it->stream, NULL) != 0)
		it->stream = -1;
	ngtcp2_path_storage_zero(&path);
	room = room < LARGEST ? room : LARGEST;
	int is_blocked = 0;
	do {
		ngtcp2_ssize taken = -1;
		uint64_t more = ready(it->offers, now, it->size, it->written);
		int ends = it->size != 0 && it->written + more == it->size && more <= sizeof zeros;
		ngtcp2_vec data = { zeros, more < sizeof zeros ? more : sizeof zeros };
		int writes = it->stream >= 0 && !it->has_finished && !is_blocked && (more > 0 || ends);
		uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE;
		if (writes && ends)
			flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
		length = ngtcp2_conn_writev_stream(it->connection, &path.path, &info, datagram, room,
						   &taken, writes ? flags : 0,
						   writes ? it->stream : -1, writes ? &data : NULL,
						   writes, now);
		if (writes && taken >= 0) {
			it->written += (uint64_t)taken;
			it->has_finished = ends && (size_t)taken == data.len;
		}
		is_blocked = length == NGTCP2_ERR_STREAM_DATA_BLOCKED;
	} while (length == NGTCP2_ERR_WRITE_MORE || is_blocked);
	if (length < 0) {
		ended(it, "writev_stream", (int)length);
		return 0;
	}
	ngtcp2_conn_update_pkt_tx_time(it->connection, now);
	transmit->ecn = (uint8_t)info.ecn;
	return (size_t)length;
}

static uint64_t poll_timeout(void *state)
{
	struct end *it = state;
	uint64_t next = NARROWS_NEVER, timer = NARROWS_NEVER;
	if (it->connection && !it->ended[0])
		timer = ngtcp2_conn_get_expiry(it->connection);
	if (it->stream >= 0 && !it->has_finished && it->offers)
		narrows_offered(it->offers, it->now, &next);
	return timer < next ? timer : next;
}

static void tell(void *state, struct narrows_told *told)
{
	struct end *it = state;
	told->delivered = it->delivered;
	told->complete = (uint8_t)it->is_complete;
	told->ended = it->ended[0] ? it->ended : NULL;
	if (!it->connection)
		return;
	ngtcp2_conn_info info;
	ngtcp2_conn_get_conn_info(it->connection, &info);
	told->window = info.cwnd;
	told->in_flight = info.bytes_in_flight;
	told->rtt = info.smoothed_rtt;
	told->lost = info.pkt_lost + 1;
}

static void drop(void *state)
{
	struct end *it = state;
	if (it->connection) {
		ngtcp2_conn_del(it->connection);
		it->tls.handshake_properties.additional_extensions = NULL;
		ptls_free(it->tls.ptls);
	}
	free(it);
}

static int make(void *context, uint64_t seed, uint64_t size, struct narrows_endpoint *near_end,
		struct narrows_endpoint *far_end)
{
	const char *cc = context;
	seed_numbers(seed);
	for (int is_near = 0; is_near < 2; is_near++) {
		struct end *it = calloc(1, sizeof *it);
		if (!it)
			return -1;
		it->is_near = is_near;
		it->here = address(is_near);
		it->there = address(!is_near);
		it->stream = -1;
		it->size = size;
		it->offers = is_near ? narrows_offers() : NULL;
		it->algorithm = strcmp(cc, "reno") == 0 ? NGTCP2_CC_ALGO_RENO :
				strcmp(cc, "bbr") == 0	? NGTCP2_CC_ALGO_BBR :
							  NGTCP2_CC_ALGO_CUBIC;
		*(is_near ? near_end : far_end) =
			(struct narrows_endpoint){ it,		  handle, handle_timeout, poll_transmit,
						   poll_timeout, tell,	  drop };
	}
	return 0;
}

int main(int count, char **arguments)
{
	if (count != 4) {
		fprintf(stderr, "usage: %s reno|cubic|bbr PROFILE CHECKS\n", arguments[0]);
		return 2;
	}
	return judge("ngtcp2", make, arguments[1], arguments[2], arguments[3]);
}
