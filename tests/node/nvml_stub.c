/* A libnvidia-ml.so.1 that behaves as the environment variable or file named by TACHOGRAPH_STUB says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef int ret_t;

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, INSUFFICIENT = 7, LOST = 15, MISMATCH = 18 };

typedef struct { u32 gpu, memory; } utilization_t;
typedef struct { u64 total, free, used; } memory_t;
typedef struct { u32 version; u64 total, reserved, free, used; } memory2_t;
typedef struct { u32 pid; u64 used; u32 gi, ci; } process_t;
typedef struct { u32 version, sensor; int temperature; } temperature_t;
typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
typedef struct { u32 field, scope; long long timestamp, latency; u32 type; ret_t ret; union { double d; u32 u; u64 q; } value; } field_t;
_Static_assert(sizeof(field_t) == 40 && sizeof(process_t) == 24 && sizeof(pci_t) == 68 && sizeof(memory2_t) == 40, "ABI");

static int started = 0;
static int fallen[2]; /* a GPU that fell off the bus stays away until NVML is started anew */

#ifdef FIXED_SCENARIO /* for the benchmark, which must not pay for reading files */
static int is(const char *name) { return strcmp(FIXED_SCENARIO, name) == 0; }
#else
/* The scenario is read from a file before each call, so that a test can change it while the library is loaded. */
static int is(const char *name) {
    char now[64] = "";
    const char *path = getenv("TACHOGRAPH_STUB");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) {
        if (!fgets(now, sizeof now, file)) now[0] = 0;
        fclose(file);
    }
    now[strcspn(now, "\n")] = 0;
    return strcmp(now, name) == 0;
}
#endif

static long index_of(void *handle) { return (long)handle - 1; }
static int discrete(void) { return is("discrete") || is("one-lost") || is("one-forbidden") || is("big-card"); }

static ret_t gate(void *handle) {
    if (!started) return UNINITIALIZED;
    if (is("lost") || (is("one-lost") && index_of(handle) == 1)) fallen[index_of(handle)] = 1;
    if (fallen[index_of(handle)]) return LOST;
    if (is("not-supported")) return NOT_SUPPORTED;
    if (is("broken")) return 999;
    return OK;
}
#define GATE(handle) do { ret_t code = gate(handle); if (code) return code; } while (0)
#define ONLY_DISCRETE(handle) do { GATE(handle); if (!discrete()) return NOT_SUPPORTED; } while (0)

ret_t nvmlInitWithFlags(u32 flags) {
    (void)flags;
    if (is("mismatch")) return MISMATCH;
    if (is("no-driver")) return 9;
    started = 1;
    fallen[0] = fallen[1] = 0;
    return OK;
}
ret_t nvmlShutdown(void) {
    if (!started) return UNINITIALIZED;
    started = 0;
    return OK;
}
const char *nvmlErrorString(ret_t code) { (void)code; return "stub error"; }
ret_t nvmlSystemGetDriverVersion(char *text, u32 size) { (void)size; if (is("broken")) return 999; strcpy(text, "580.142"); return OK; }
ret_t nvmlDeviceGetCount_v2(u32 *count) { *count = is("no-gpu") ? 0 : discrete() ? 2 : 1; return OK; }
ret_t nvmlDeviceGetHandleByIndex_v2(u32 index, void **handle) {
    if (is("one-forbidden") && index == 1) return 4;
    *handle = (void *)(long)(index + 1);
    return OK;
}
ret_t nvmlDeviceGetName(void *handle, char *text, u32 size) {
    (void)size; GATE(handle);
    strcpy(text, discrete() ? "NVIDIA RTX PRO 6000" : "NVIDIA GB10");
    return OK;
}
ret_t nvmlDeviceGetUUID(void *handle, char *text, u32 size) {
    GATE(handle);
    snprintf(text, size, "GPU-2dee1e25-b3b5-007e-2b55-79f2d0f2ebe%ld", 5 + index_of(handle));
    return OK;
}
ret_t nvmlDeviceGetSerial(void *handle, char *text, u32 size) {
    (void)size;
    if (is("near-total")) { *text = 0; return OK; }
    ONLY_DISCRETE(handle);
    strcpy(text, "1322");
    return OK;
}
ret_t nvmlDeviceGetVbiosVersion(void *handle, char *text, u32 size) { (void)size; GATE(handle); strcpy(text, "9A.0B.25.00.00"); return OK; }
ret_t nvmlDeviceGetPciInfo_v3(void *handle, pci_t *pci) {
    GATE(handle);
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "0000000F:0%ld:00.0", 1 + index_of(handle));
    return OK;
}
ret_t nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) { GATE(handle); *major = 12; *minor = 1; return OK; }

ret_t nvmlDeviceGetUtilizationRates(void *handle, utilization_t *rates) {
    GATE(handle);
    rates->gpu = is("not-available") ? ~0u : is("busy") || is("power-fault") || is("process-na") ? 96 : discrete() ? 40 + 10 * index_of(handle) : 0;
    rates->memory = 0;
    return OK;
}
ret_t nvmlDeviceGetTemperatureV(void *handle, temperature_t *reading) {
    GATE(handle);
    if (reading->version != 0x0100000C) return 25;
    if (is("old-driver")) return 13;
    reading->temperature = is("busy") ? 71 : is("power-fault") ? 48 : 42;
    return OK;
}
ret_t nvmlDeviceGetTemperature(void *handle, u32 sensor, u32 *value) { (void)sensor; GATE(handle); *value = 43; return OK; }
ret_t nvmlDeviceGetPowerUsage(void *handle, u32 *milliwatts) {
    while (is("hang")) usleep(10000);
    GATE(handle);
    *milliwatts = is("not-available") ? ~0u : is("busy") ? 89260 : is("power-fault") ? 12000 : 4310;
    return OK;
}
ret_t nvmlDeviceGetEnforcedPowerLimit(void *handle, u32 *milliwatts) {
    if (is("not-available") || is("no-limit")) { *milliwatts = is("no-limit") ? 0 : ~0u; return OK; }
    ONLY_DISCRETE(handle);
    *milliwatts = 600000;
    return OK;
}
ret_t nvmlDeviceGetTotalEnergyConsumption(void *handle, u64 *millijoules) { GATE(handle); *millijoules = is("not-available") ? ~0ULL : 912033481; return OK; }
ret_t nvmlDeviceGetClockInfo(void *handle, u32 type, u32 *megahertz) {
    GATE(handle);
    if (type == 2) { if (!discrete()) return NOT_SUPPORTED; *megahertz = 14001; return OK; }
    *megahertz = is("not-available") ? ~0u : is("busy") ? 2249 : is("power-fault") ? 650 : 208;
    return OK;
}
ret_t nvmlDeviceGetMaxClockInfo(void *handle, u32 type, u32 *megahertz) { (void)type; GATE(handle); *megahertz = is("not-available") ? ~0u : is("no-limit") ? 0 : 3003; return OK; }
ret_t nvmlDeviceGetPerformanceState(void *handle, u32 *state) {
    GATE(handle);
    *state = is("busy") || is("power-fault") ? 0 : is("no-pstate") ? 32 : 8;
    return OK;
}
ret_t nvmlDeviceGetCurrentClocksEventReasons(void *handle, u64 *reasons) { GATE(handle); *reasons = is("not-available") ? ~0ULL : is("thermal") ? 0x68 : is("busy") ? 0 : 0x5; return OK; }
ret_t nvmlDeviceGetFanSpeed(void *handle, u32 *percent) {
    if (is("not-available")) { *percent = ~0u; return OK; }
    ONLY_DISCRETE(handle);
    *percent = 35;
    return OK;
}

ret_t nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    GATE(handle);
    if (is("near-total")) { memory->total = 127600748ULL * 1024; memory->free = memory->used = memory->total / 2; return OK; }
    if (is("zero-total")) { memset(memory, 0, sizeof *memory); return OK; }
    if (!discrete()) return NOT_SUPPORTED;
    memory->total = is("big-card") ? 130000000ULL * 1024 : 96ULL << 30;
    memory->used = 10ULL << 30;
    memory->free = memory->total - memory->used;
    return OK;
}
ret_t nvmlDeviceGetMemoryInfo_v2(void *handle, memory2_t *memory) {
    ONLY_DISCRETE(handle);
    if (memory->version != 0x02000028) return 25;
    memory->total = is("big-card") ? 130000000ULL * 1024 : 96ULL << 30;
    memory->reserved = 1ULL << 30;
    memory->used = (8ULL + index_of(handle)) << 30;
    memory->free = memory->total - memory->reserved - memory->used;
    return OK;
}

static ret_t give(const process_t *listed, u32 n, u32 *count, process_t *out) {
    if (n == 0) { *count = 0; return OK; }
    if (*count < n || !out) { *count = n; return INSUFFICIENT; }
    memcpy(out, listed, n * sizeof *listed);
    *count = n;
    return OK;
}
ret_t nvmlDeviceGetComputeRunningProcesses_v3(void *handle, u32 *count, process_t *out) {
    GATE(handle);
    process_t vllm = {is("case-07") ? 114687 : 244850, 104448ULL << 20, ~0u, ~0u};
    process_t both = {2804, 100ULL << 20, ~0u, ~0u};
    if (is("process-na")) vllm.used = ~0ULL;
    process_t listed[] = {vllm, both};
    if (is("busy")) return give(listed, 2, count, out);
    if (is("process-na") || is("case-07")) return give(listed, 1, count, out);
    return give(listed, 0, count, out);
}
ret_t nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, u32 *count, process_t *out) {
    GATE(handle);
    process_t listed[] = {{2804, 179ULL << 20, ~0u, ~0u}};
    return give(listed, is("busy") ? 1 : 0, count, out);
}
ret_t nvmlDeviceGetFieldValues(void *handle, int count, field_t *fields) {
    GATE(handle);
    for (int i = 0; i < count; i++) {
        field_t *f = fields + i;
        f->ret = OK;
        f->type = 3;
        switch (f->field) {
            case 186: f->type = 1; f->value.u = is("not-available") ? ~0u : is("busy") ? 112780 : 3900; break;
            case 82: f->type = 1; f->value.u = discrete() ? 62 : 0; break;
            case 74: f->value.q = is("not-available") ? ~0ULL : 114000000000ULL; break;
            case 269: f->value.q = is("thermal") ? 7500000000ULL : 0; break;
            case 270: f->value.q = 0; break;
            case 271: f->value.q = 0; break;
            default: f->ret = NOT_SUPPORTED;
        }
    }
    return OK;
}
