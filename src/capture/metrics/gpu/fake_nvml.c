/* A small NVML for tests, opened like the real one. GPU 0 works. GPU 1 does not report its
   utilization. GPU 2 is lost after its first reading. GPU 3 fails to report its power every other
   time. With FAKE_NVML_HANGS=reading, GPU 0 never answers its second reading. With
   FAKE_NVML_HANGS=opening, the library never opens. */
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are the
// library's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS 4

struct device {
  unsigned index;
  unsigned calls; /* Number of utilization calls. */
  unsigned power_calls;
};

static struct device devices[GPUS] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
static struct device mig = {0, 0, 0};

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, TIMEOUT = 10, LOST = 15 };

#define API __attribute__((visibility("default")))

static int hangs(const char* when) {
  const char* set = getenv("FAKE_NVML_HANGS");
  return set != NULL && strcmp(set, when) == 0;
}

API int nvmlInit_v2(void) {
  while (hangs("opening")) pause();
  /* Resets the counters for each test. */
  for (unsigned i = 0; i < GPUS; ++i) devices[i].calls = devices[i].power_calls = 0;
  return SUCCESS;
}
API int nvmlShutdown(void) { return SUCCESS; }
API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = GPUS;
  return SUCCESS;
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device** device) {
  *device = &devices[index];
  return SUCCESS;
}
API int nvmlDeviceGetHandleByUUID(const char* uuid, struct device** device) {
  if (strcmp(uuid, "MIG-aaaa") != 0) return INVALID;
  *device = &mig;
  return SUCCESS;
}
API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct device* part, struct device** device) {
  if (part != &mig) return INVALID;
  *device = &devices[3];
  return SUCCESS;
}
API int nvmlDeviceGetIndex(struct device* device, unsigned* index) {
  *index = device->index;
  return SUCCESS;
}
API int nvmlDeviceGetUUID(struct device* device, char* text, unsigned size) {
  snprintf(text, size, "GPU-%04x-1111-2222", device->index);
  return SUCCESS;
}
API int nvmlDeviceGetName(struct device* device, char* text, unsigned size) {
  snprintf(text, size, "Fake \"%u\"", device->index);
  return SUCCESS;
}
API int nvmlDeviceGetUtilizationRates(struct device* device, unsigned* rates) {
  ++device->calls;
  while (device->index == 0 && device->calls > 1 && hangs("reading")) pause();
  if (device->index == 1) return NOT_SUPPORTED;
  if (device->index == 2 && device->calls > 1) return LOST;
  rates[0] = 40 + device->index;
  rates[1] = 20;
  return SUCCESS;
}
API int nvmlDeviceGetMemoryInfo(struct device* device, unsigned long long* memory) {
  memory[0] = 1000;
  memory[1] = device == &mig ? 77 : 600 + device->index;
  memory[2] = 400;
  return SUCCESS;
}
API int nvmlDeviceGetClockInfo(struct device* device, unsigned type, unsigned* mhz) {
  (void)device;
  *mhz = type == 1 ? 1980 : type == 2 ? 2619 : 0;
  return SUCCESS;
}
API int nvmlDeviceGetPowerUsage(struct device* device, unsigned* milliwatts) {
  if (device->index == 3 && device->power_calls++ % 2 == 0) return TIMEOUT;
  *milliwatts = 350500;
  return SUCCESS;
}
API int nvmlDeviceGetTotalEnergyConsumption(struct device* device,
                                            unsigned long long* millijoules) {
  static unsigned long long energy = 1000000;
  (void)device;
  *millijoules = energy += 1000;
  return SUCCESS;
}
API int nvmlDeviceGetCurrentClocksThrottleReasons(struct device* device,
                                                  unsigned long long* reasons) {
  (void)device;
  *reasons = 0x4 | 0x40;
  return SUCCESS;
}

struct field {
  unsigned id, scope;
  long long stamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
};
API int nvmlDeviceGetFieldValues(struct device* device, int count, struct field* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].result =
        device->index == 0 && fields[i].scope == 0xffffffffu ? SUCCESS : NOT_SUPPORTED;
    fields[i].value = 1 << 20;
  }
  return SUCCESS;
}

struct process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
API int nvmlDeviceGetComputeRunningProcesses_v3(struct device* device, unsigned* count,
                                                struct process* processes) {
  if (*count < 2) return 7;
  *count = device->index == 0 ? 2 : 0;
  processes[0] = (struct process){10, 300, 0, 0};
  processes[1] = (struct process){99, ~0ull, 0, 0};
  return SUCCESS;
}

/* GPM, the counters of Hopper and later. Only GPU 0 supports them. */
struct gpm_metric {
  unsigned id;
  int result;
  double value;
  const char *a, *b, *c;
};
struct gpm_request {
  unsigned version, count;
  void *first, *second;
  struct gpm_metric metrics[1];
};
API int nvmlGpmQueryDeviceSupport(struct device* device, unsigned* support) {
  support[1] = device->index == 0;
  return SUCCESS;
}
API int nvmlGpmSampleAlloc(void** sample) {
  static int samples[64];
  static unsigned next;
  *sample = &samples[next++ % 64];
  return SUCCESS;
}
API int nvmlGpmSampleFree(void* sample) {
  (void)sample;
  return SUCCESS;
}
API int nvmlGpmSampleGet(struct device* device, void* sample) {
  (void)device;
  (void)sample;
  return SUCCESS;
}
API int nvmlGpmMetricsGet(struct gpm_request* request) {
  if (request->version != 1 || request->first == request->second) return INVALID;
  for (unsigned i = 0; i < request->count; ++i) {
    request->metrics[i].result = request->metrics[i].id == 5 ? NOT_SUPPORTED : SUCCESS;
    request->metrics[i].value = request->metrics[i].id;
  }
  return SUCCESS;
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
