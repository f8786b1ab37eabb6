#define _GNU_SOURCE
#include "wrapper.h"

uint16_t shim_eth_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_rx_burst(port, queue, mbufs, count);
}

uint16_t shim_eth_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_tx_burst(port, queue, mbufs, count);
}

struct rte_mbuf *shim_pktmbuf_alloc(struct rte_mempool *pool)
{
	return rte_pktmbuf_alloc(pool);
}

int shim_pktmbuf_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int count)
{
	return rte_pktmbuf_alloc_bulk(pool, mbufs, count);
}

void shim_pktmbuf_free(struct rte_mbuf *mbuf)
{
	rte_pktmbuf_free(mbuf);
}

int shim_pktmbuf_linearize(struct rte_mbuf *mbuf)
{
	return rte_pktmbuf_linearize(mbuf);
}

unsigned int shim_ring_enqueue_burst(struct rte_ring *ring, void *const *objects, unsigned int count)
{
	return rte_ring_enqueue_burst(ring, objects, count, NULL);
}

unsigned int shim_ring_dequeue_burst(struct rte_ring *ring, void **objects, unsigned int count)
{
	return rte_ring_dequeue_burst(ring, objects, count, NULL);
}

unsigned int shim_ring_count(const struct rte_ring *ring)
{
	return rte_ring_count(ring);
}

int shim_lpm_lookup_bulk(const struct rte_lpm *lpm, const uint32_t *addresses, uint32_t *next_hops, unsigned int count)
{
	return rte_lpm_lookup_bulk(lpm, addresses, next_hops, count);
}

uint64_t shim_rdtsc(void)
{
	return rte_rdtsc();
}

uint64_t shim_tsc_hz(void)
{
	return rte_get_tsc_hz();
}

unsigned int shim_lcore_id(void)
{
	return rte_lcore_id();
}

int shim_errno(void)
{
	return rte_errno;
}

void shim_pause(void)
{
	rte_pause();
}

FILE *shim_line_stream(ssize_t (*write)(void *cookie, const char *bytes, size_t length))
{
	cookie_io_functions_t functions = {.write = write};
	FILE *stream = fopencookie(NULL, "w", functions);

	if (stream != NULL)
		setvbuf(stream, NULL, _IOLBF, 1024);
	return stream;
}
