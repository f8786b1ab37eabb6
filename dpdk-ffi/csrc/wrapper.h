/* What bindgen and the shims see of DPDK. */
#include <stdio.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_flow.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_version.h>

/* bindgen drops macros that are not plain literals, RTE_BIT64() among them, without a word. Each one in use is
 * declared again as a constant of the right type. */
#define K(name) static const uint64_t K_##name = name;
K(RTE_ETH_RX_OFFLOAD_SCATTER)
K(RTE_ETH_RX_OFFLOAD_VLAN_STRIP)
K(RTE_ETH_RX_OFFLOAD_CHECKSUM)
K(RTE_ETH_TX_OFFLOAD_MULTI_SEGS)
K(RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
K(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM)
K(RTE_ETH_RSS_IP)
K(RTE_ETH_RSS_TCP)
K(RTE_ETH_RSS_UDP)
K(RTE_ETH_RSS_PPPOE)
K(RTE_MBUF_F_RX_VLAN)
K(RTE_MBUF_F_RX_VLAN_STRIPPED)
K(RTE_MBUF_F_RX_QINQ)
K(RTE_MBUF_F_RX_QINQ_STRIPPED)
#undef K

/* The inlines, out of line: about 3.5 cycles a call, so the data path calls those it needs once a burst. */
uint16_t shim_eth_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count);
uint16_t shim_eth_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count);
struct rte_mbuf *shim_pktmbuf_alloc(struct rte_mempool *pool);
int shim_pktmbuf_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int count);
void shim_pktmbuf_free(struct rte_mbuf *mbuf);
int shim_pktmbuf_linearize(struct rte_mbuf *mbuf);
unsigned int shim_ring_enqueue_burst(struct rte_ring *ring, void *const *objects, unsigned int count);
unsigned int shim_ring_dequeue_burst(struct rte_ring *ring, void **objects, unsigned int count);
unsigned int shim_ring_count(const struct rte_ring *ring);
int shim_lpm_lookup_bulk(const struct rte_lpm *lpm, const uint32_t *addresses, uint32_t *next_hops, unsigned int count);
uint64_t shim_rdtsc(void);
uint64_t shim_tsc_hz(void);
unsigned int shim_lcore_id(void);
int shim_errno(void);
void shim_pause(void);

/* A stdio stream, line buffered, whose lines go to `write`; NULL when out of memory. */
FILE *shim_line_stream(ssize_t (*write)(void *cookie, const char *bytes, size_t length));
