#include "ingest/xplane/plane_texts.h"

#include "base/protobuf_reader.h"
#include "ingest/names/rocm_kernels.h"
#include "ingest/names/xla_names.h"
#include "ingest/xplane/xplane_fields.h"

namespace headroom::xplane {
namespace {

struct KeyText {
  std::string_view text;
  StatKey key;
};

constexpr KeyText kStatKeys[] = {
    {"correlation_id", StatKey::kCorrelation},
    {"kernel_details", StatKey::kKernelDetails},
    {"memcpy_details", StatKey::kCopyDetails},
    {"memset_details", StatKey::kCopyDetails},
    {"hlo_op", StatKey::kHloOp},
    {"tf_op", StatKey::kTfOp},
    {"step_num", StatKey::kStep},
    {"_r", StatKey::kRoot},
    {"cuda_graph_node_id", StatKey::kGraphNode},
    {"theoretical_occupancy_pct", StatKey::kOccupancy},
    {"_p", StatKey::kProduces},
    {"_pt", StatKey::kProducesKind},
    {"_c", StatKey::kConsumes},
    {"_ct", StatKey::kConsumesKind},
    {"allocation_bytes", StatKey::kAllocationBytes},
    {"addr", StatKey::kAddress},
    {"bytes_allocated", StatKey::kAllocatedBytes},
    {"bytes_reserved", StatKey::kReservedBytes},
    {"allocator_name", StatKey::kAllocator},
    {"profile_start_time", StatKey::kProfileStart},
    {"core_count", StatKey::kCoreCount},
    {"memory_size", StatKey::kMemoryBytes},
    {"compute_cap_major", StatKey::kComputeMajor},
    {"compute_cap_minor", StatKey::kComputeMinor},
    {"device_type_string", StatKey::kDeviceType},
};

StatKey KeyOf(std::string_view name) {
  for (const KeyText& known : kStatKeys) {
    if (known.text == name) return known.key;
  }
  return StatKey::kOther;
}

/// An entry of a protobuf map: its key, and the message that is its value.
struct MapEntry {
  std::uint64_t key = 0;
  std::string_view value;
};

bool ReadEntry(std::string_view text, MapEntry& entry) {
  ProtobufReader reader(text);
  while (reader.Next()) {
    if (reader.as<MapField>() == MapField::kKey) entry.key = reader.integer();
    if (reader.as<MapField>() == MapField::kValue) entry.value = reader.bytes();
  }
  return !reader.damaged();
}

std::int8_t AllocationSign(std::string_view name) {
  if (name == "MemoryAllocation") return 1;
  return name == "MemoryDeallocation" ? std::int8_t{-1} : std::int8_t{0};
}

}  // namespace

bool PlaneTexts::ReadEvent(std::string_view text, bool of_device, StringPool& strings) {
  MapEntry entry;
  if (!ReadEntry(text, entry)) return false;
  std::string_view name, display_name;
  EventText event;
  ProtobufReader reader(entry.value);
  while (reader.Next()) {
    switch (reader.as<EventMetadataField>()) {
      case EventMetadataField::kName:
        name = reader.bytes();
        break;
      case EventMetadataField::kDisplayName:
        display_name = reader.bytes();
        break;
      case EventMetadataField::kStat:
        event.stats = entry.value;
        break;
    }
  }
  // An operation on a TPU has its whole program text as its name, and a short display name.
  const bool is_operation = !of_device && xla::IsTensorFlowOperation(display_name, name);
  if (!display_name.empty() && !is_operation) name = display_name;
  if (of_device) name = WithoutDescriptor(name);
  event.name = strings.Intern(name);
  event.host_kind = is_operation ? HostEventKind::kOperator : xla::HostKindOf(name);
  event.category = strings.Intern(xla::CategoryOf(event.host_kind, name));
  event.gpu_kind = xla::GpuKindOf(name);
  event.allocates = AllocationSign(name);
  events_[entry.key] = event;
  return !reader.damaged();
}

bool PlaneTexts::ReadStat(std::string_view text) {
  MapEntry entry;
  if (!ReadEntry(text, entry)) return false;
  StatText stat;
  stat.known = true;
  ProtobufReader reader(entry.value);
  while (reader.Next()) {
    if (reader.as<StatMetadataField>() == StatMetadataField::kName) stat.name = reader.bytes();
  }
  stat.key = KeyOf(stat.name);
  stats_[entry.key] = stat;
  return !reader.damaged();
}

bool PlaneTexts::Read(std::string_view plane, bool of_device, StringPool& strings,
                      RowBudget& rows) {
  events_.Begin(plane.size());
  stats_.Begin(plane.size());
  bool whole = true;
  ProtobufReader reader(plane);
  while (reader.Next() && rows.Add(1)) {
    if (reader.as<PlaneField>() == PlaneField::kEventMetadata)
      whole = ReadEvent(reader.bytes(), of_device, strings) && whole;
    if (reader.as<PlaneField>() == PlaneField::kStatMetadata)
      whole = ReadStat(reader.bytes()) && whole;
  }
  return whole;
}

}  // namespace headroom::xplane
