/* A small ROCm SMI for tests: one GPU, which reports only average power and has no edge sensor.
   Processes 10 and 99 use it. Process 11 uses another GPU. */
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
/* Layout of ROCm 6. */
API int rsmi_dev_gpu_clk_freq_get(uint32_t device, int clock, void* out) {
  const uint32_t head[4] = {1, 2, 1, 0};
  const uint64_t frequencies[2] = {500000000, clock == 0 ? 2100000000 : 900000000};
  (void)device;
  memcpy(out, head, sizeof(head));
  memcpy((char*)out + sizeof(head), frequencies, sizeof(frequencies));
  return SUCCESS;
}
API int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric,
                                 int64_t* millidegrees) {
  if (sensor == 0) return NOT_SUPPORTED;
  *millidegrees = 61500 + device;
  return sensor == 1 && metric == 0 ? SUCCESS : NOT_SUPPORTED;
}

struct process {
  uint32_t pid, pasid;
  uint64_t vram, sdma;
  uint32_t occupancy;
};
API int rsmi_compute_process_info_get(struct process* processes, uint32_t* count) {
  if (*count < 3) return 11;
  *count = 3;
  for (uint32_t i = 0; i < 3; ++i) processes[i].vram = 4000;
  processes[0].pid = 10;
  processes[1].pid = 11;
  processes[2].pid = 99;
  return SUCCESS;
}
API int rsmi_compute_process_gpus_get(uint32_t pid, uint32_t* devices, uint32_t* count) {
  *count = 1;
  devices[0] = pid == 11 ? 7 : 0;
  return SUCCESS;
}
API int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t device,
                                                struct process* process) {
  (void)device;
  process->vram = pid == 10 ? 300 : UINT64_MAX; /* Not reported, as in another PID namespace. */
  return SUCCESS;
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
