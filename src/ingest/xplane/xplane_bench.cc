// Measures how long one thread takes to read a large XPlane profile from memory and to freeze the
// store. Half of the profile is host threads (frames, annotations, calls), half GPU tasks with
// XLA's stats.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/protobuf_writer.h"
#include "ingest/input/memory_source.h"
#include "ingest/xplane/xplane_fields.h"
#include "ingest/xplane/xplane_reader.h"

namespace headroom::xplane {
namespace {

constexpr std::int64_t kPsPerUs = 1'000'000;
constexpr int kNames = 200;  ///< Number of operation names; a real program has hundreds.

void WriteName(ProtobufWriter& writer, PlaneField map, std::int64_t id, std::string_view name) {
  writer.Message(map, [&] {
    writer.Varint(MapField::kKey, id);
    writer.Message(MapField::kValue, [&] { writer.Bytes(EventMetadataField::kName, name); });
  });
}

template <typename Field>
void WriteStat(ProtobufWriter& writer, std::int64_t id, Field field, std::int64_t value) {
  writer.Message(EventField::kStat, [&] {
    writer.Varint(StatField::kMetadataId, id);
    writer.Varint(field, value);
  });
}

/// Event `i` of a line belongs to operation i % kNames. Each operation has a frame, an annotation
/// and a call on the host.
std::string HostPlane(std::int64_t launches) {
  std::string line, plane;
  ProtobufWriter in_line(line), in_plane(plane);
  in_line.Varint(LineField::kId, 100);
  in_line.Bytes(LineField::kName, "python");
  const auto event = [&](std::int64_t id, std::int64_t start, std::int64_t length, auto stats) {
    in_line.Message(LineField::kEvent, [&] {
      in_line.Varint(EventField::kMetadataId, id);
      in_line.Varint(EventField::kOffsetPs, start);
      in_line.Varint(EventField::kDurationPs, length);
      stats();
    });
  };
  for (std::int64_t i = 0; i < launches; ++i) {
    const std::int64_t at = i * 10 * kPsPerUs;
    event(2, at, 9 * kPsPerUs, [] {});
    event(10 + i % kNames, at + kPsPerUs, 7 * kPsPerUs, [] {});
    event(1, at + 2 * kPsPerUs, 4 * kPsPerUs,
          [&] { WriteStat(in_line, 1, StatField::kUnsigned, i); });
  }
  in_plane.Bytes(PlaneField::kName, "/host:CPU");
  in_plane.Bytes(PlaneField::kLine, line);
  WriteName(in_plane, PlaneField::kEventMetadata, 1, "cuLaunchKernel");
  WriteName(in_plane, PlaneField::kEventMetadata, 2, "$train.py:42 step");
  for (int i = 0; i < kNames; ++i)
    WriteName(in_plane, PlaneField::kEventMetadata, 10 + i, "fusion." + std::to_string(i));
  WriteName(in_plane, PlaneField::kStatMetadata, 1, "correlation_id");
  return plane;
}

std::string GpuPlane(std::int64_t launches) {
  std::string line, plane;
  ProtobufWriter in_line(line), in_plane(plane);
  in_line.Varint(LineField::kId, 13);
  in_line.Bytes(LineField::kName, "Stream #13(Compute)");
  for (std::int64_t i = 0; i < launches; ++i) {
    in_line.Message(LineField::kEvent, [&] {
      in_line.Varint(EventField::kMetadataId, 1 + i % kNames);
      in_line.Varint(EventField::kOffsetPs, (i * 10 + 5) * kPsPerUs);
      in_line.Varint(EventField::kDurationPs, 8 * kPsPerUs);
      WriteStat(in_line, 1, StatField::kUnsigned, i);
      WriteStat(in_line, 2, StatField::kReference, 10);
      WriteStat(in_line, 3, StatField::kReference, 20 + i % kNames);
      WriteStat(in_line, 4, StatField::kReference, 11);
      WriteStat(in_line, 5, StatField::kReference, 12);
      WriteStat(in_line, 6, StatField::kSigned, 15);
    });
  }
  in_plane.Bytes(PlaneField::kName, "/device:GPU:0");
  in_plane.Bytes(PlaneField::kLine, line);
  const std::string_view stats[] = {"correlation_id", "kernel_details", "hlo_op",
                                    "hlo_module",     "tf_op",          "program_id"};
  for (int i = 0; i < kNames; ++i) {
    WriteName(in_plane, PlaneField::kEventMetadata, 1 + i, "loop_fusion_" + std::to_string(i));
    WriteName(in_plane, PlaneField::kStatMetadata, 20 + i, "fusion." + std::to_string(i));
  }
  for (std::size_t i = 0; i < std::size(stats); ++i)
    WriteName(in_plane, PlaneField::kStatMetadata, static_cast<std::int64_t>(i) + 1, stats[i]);
  WriteName(in_plane, PlaneField::kStatMetadata, 10,
            "regs:32 static_shared:0 dynamic_shared:0 grid:1280,1,1 block:256,1,1 occ_pct:50.0");
  WriteName(in_plane, PlaneField::kStatMetadata, 11, "jit_train_step");
  WriteName(in_plane, PlaneField::kStatMetadata, 12, "jit(train_step)/jvp(net)/dot_general:");
  return plane;
}

void BM_ReadXPlane(benchmark::State& state) {
  const std::int64_t launches = state.range(0);
  std::string bytes;
  ProtobufWriter writer(bytes);
  writer.Bytes(SpaceField::kPlane, GpuPlane(launches));
  writer.Bytes(SpaceField::kPlane, HostPlane(launches));
  std::int64_t events = 0;
  for (auto _ : state) {
    MemoryByteSource source(bytes);
    TraceStore store;
    if (!Read(source, "bench", ReadOptions(), store).ok()) return state.SkipWithError("not read");
    const bool right = store.log.empty() && store.metadata.events == 4 * launches &&
                       store.gpu_tasks.launch[0].valid() &&
                       store.gpu_tasks.rows() == static_cast<std::size_t>(launches);
    if (!right) return state.SkipWithError("wrong rows");
    events += store.metadata.events;
  }
  state.SetItemsProcessed(events);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
}
BENCHMARK(BM_ReadXPlane)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom::xplane
