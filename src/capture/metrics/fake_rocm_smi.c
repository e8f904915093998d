/* A small ROCm SMI for tests: one GPU, which tells its power only as an average. */
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are the
// library's.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))
enum { SUCCESS = 0, NOT_SUPPORTED = 2 };

API int rsmi_init(uint64_t flags) { return flags == 0 ? SUCCESS : 1; }
API int rsmi_shut_down(void) { return SUCCESS; }
API int rsmi_num_monitor_devices(uint32_t* count) {
  *count = 1;
  return SUCCESS;
}
API int rsmi_dev_unique_id_get(uint32_t device, uint64_t* id) {
  *id = 0xabcd0000u + device;
  return SUCCESS;
}
API int rsmi_dev_busy_percent_get(uint32_t device, uint32_t* percent) {
  *percent = 55 + device;
  return SUCCESS;
}
API int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t* bytes) {
  *bytes = 1000 + device;
  return type == 0 ? SUCCESS : NOT_SUPPORTED;
}
API int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t* bytes) {
  *bytes = 300 + device;
  return type == 0 ? SUCCESS : NOT_SUPPORTED;
}
API int rsmi_dev_power_get(uint32_t device, uint64_t* microwatts, int* type) {
  (void)device, (void)microwatts, (void)type;
  return NOT_SUPPORTED;
}
API int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t* microwatts) {
  *microwatts = 250000000 + device + sensor;
  return SUCCESS;
}
/* As ROCm 6 writes it. */
API int rsmi_dev_gpu_clk_freq_get(uint32_t device, int clock, void* out) {
  const uint32_t head[4] = {1, 2, 1, 0};
  const uint64_t frequencies[2] = {500000000, clock == 0 ? 2100000000 : 900000000};
  (void)device;
  memcpy(out, head, sizeof(head));
  memcpy((char*)out + sizeof(head), frequencies, sizeof(frequencies));
  return SUCCESS;
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
