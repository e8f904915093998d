#include "ingest/rocprof/record.h"

#include <charconv>
#include <limits>
#include <string_view>

namespace headroom::rocprof {
namespace {

/// Reads a handle: {"handle": 5}, or in some places only the number.
void ParseHandle(JsonCursor& cursor, std::uint64_t& handle) {
  if (cursor.Peek() != '{') {
    cursor.Integer(handle);
    return;
  }
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "handle") {
      cursor.Integer(handle);
    } else {
      cursor.Skip();
    }
  }
}

void ParseExtent(JsonCursor& cursor, std::array<std::uint64_t, 3>& extent) {
  if (cursor.Peek() != '{') return cursor.Skip();
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key.size() == 1 && key[0] >= 'x' && key[0] <= 'z') {
      cursor.Integer(extent[static_cast<std::size_t>(key[0] - 'x')]);
    } else {
      cursor.Skip();
    }
  }
}

/// Reads a number, or a text like "0x00007f10a0000000".
void ParseAddress(JsonCursor& cursor, std::uint64_t& address) {
  if (cursor.Peek() != '"') return ParseHandle(cursor, address);
  std::string_view text;
  std::string scratch;
  if (!cursor.Text(text, scratch)) return;
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::from_chars(text.data(), text.data() + text.size(), address, is_hex ? 16 : 10);
}

void ParseString(JsonCursor& cursor, std::string& text) {
  std::string_view found;
  std::string scratch;
  if (cursor.Text(found, scratch)) text = found;
}

void ParseCorrelation(JsonCursor& cursor, Record& record) {
  if (cursor.Peek() != '{') return cursor.Skip();
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "internal") {
      cursor.Integer(record.correlation);
    } else {
      cursor.Skip();
    }
  }
}

void ParseDispatch(JsonCursor& cursor, Record& record) {
  if (cursor.Peek() != '{') return cursor.Skip();
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "agent_id") {
      ParseHandle(cursor, record.agent);
    } else if (key == "queue_id") {
      ParseHandle(cursor, record.queue);
    } else if (key == "kernel_id") {
      cursor.Integer(record.kernel);
    } else if (key == "group_segment_size") {
      cursor.Integer(record.group_bytes);
    } else if (key == "private_segment_size") {
      cursor.Integer(record.private_bytes);
    } else if (key == "workgroup_size") {
      ParseExtent(cursor, record.workgroup);
    } else if (key == "grid_size") {
      ParseExtent(cursor, record.grid);
    } else {
      cursor.Skip();
    }
  }
}

}  // namespace

Record ParseRecord(JsonCursor& cursor) {
  Record record;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "kind") {
      cursor.Integer(record.kind);
    } else if (key == "operation") {
      cursor.Integer(record.operation);
    } else if (key == "thread_id") {
      cursor.Integer(record.thread);
    } else if (key == "correlation_id") {
      ParseCorrelation(cursor, record);
    } else if (key == "start_timestamp") {
      cursor.Integer(record.start);
    } else if (key == "end_timestamp") {
      cursor.Integer(record.end);
    } else if (key == "dispatch_info") {
      ParseDispatch(cursor, record);
    } else if (key == "stream_id") {
      ParseHandle(cursor, record.stream);
    } else if (key == "dst_agent_id") {
      ParseHandle(cursor, record.destination);
    } else if (key == "src_agent_id") {
      ParseHandle(cursor, record.source);
    } else if (key == "agent_id") {
      ParseHandle(cursor, record.agent);
    } else if (key == "queue_id") {
      ParseHandle(cursor, record.queue);
    } else if (key == "bytes" || key == "allocation_size") {
      cursor.Integer(record.bytes);
    } else if (key == "address") {
      ParseAddress(cursor, record.address);
    } else {
      cursor.Skip();
    }
  }
  return record;
}

Agent ParseAgent(JsonCursor& cursor) {
  constexpr std::uint64_t kLargestMemory = std::uint64_t{1} << 50;
  Agent agent;
  std::uint64_t node = kAbsent;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "id") {
      ParseHandle(cursor, agent.id);
    } else if (key == "type") {
      cursor.Integer(agent.type);
    } else if (key == "logical_node_id") {
      cursor.Integer(agent.number);
    } else if (key == "node_id") {
      cursor.Integer(node);
    } else if (key == "cu_count") {
      cursor.Integer(agent.compute_units);
    } else if (key == "gfx_target_version") {
      cursor.Integer(agent.architecture);
    } else if (key == "name") {
      ParseString(cursor, agent.name);
    } else if (key == "product_name") {
      ParseString(cursor, agent.product);
    } else if (key == "mem_banks" && cursor.Peek() == '[') {
      cursor.Enter('[');
      while (cursor.NextElement()) {
        if (!cursor.Enter('{')) break;
        for (std::string_view of_bank; cursor.NextMember(of_bank);) {
          std::uint64_t bytes = 0;
          if (of_bank != "size_in_bytes") {
            cursor.Skip();
          } else if (cursor.Integer(bytes) && bytes <= kLargestMemory) {
            agent.memory_bytes += bytes;
          }
        }
      }
    } else {
      cursor.Skip();
    }
  }
  if (agent.number == kAbsent) agent.number = node;
  return agent;
}

KernelSymbol ParseKernelSymbol(JsonCursor& cursor) {
  KernelSymbol symbol;
  std::string demangled, formatted;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "kernel_id") {
      cursor.Integer(symbol.id);
    } else if (key == "kernel_name") {
      ParseString(cursor, symbol.name);
    } else if (key == "demangled_kernel_name") {
      ParseString(cursor, demangled);
    } else if (key == "formatted_kernel_name") {
      ParseString(cursor, formatted);
    } else if (key == "arch_vgpr_count") {
      cursor.Integer(symbol.vector_registers);
    } else if (key == "accum_vgpr_count") {
      cursor.Integer(symbol.accumulators);
    } else {
      cursor.Skip();
    }
  }
  if (!demangled.empty()) {
    symbol.name = std::move(demangled);
  } else if (!formatted.empty()) {
    symbol.name = std::move(formatted);
  }
  return symbol;
}

KindNames ParseKindNames(JsonCursor& cursor) {
  KindNames names;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "kind") {
      ParseString(cursor, names.kind);
    } else if (key == "operations" && cursor.Peek() == '[') {
      cursor.Enter('[');
      while (cursor.NextElement()) ParseString(cursor, names.operations.emplace_back());
    } else {
      cursor.Skip();
    }
  }
  return names;
}

std::pair<std::uint64_t, std::string> ParseText(JsonCursor& cursor) {
  std::pair<std::uint64_t, std::string> text = {kAbsent, {}};
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "key") {
      cursor.Integer(text.first);
    } else if (key == "value") {
      ParseString(cursor, text.second);
    } else {
      cursor.Skip();
    }
  }
  return text;
}

CounterName ParseCounterName(JsonCursor& cursor) {
  CounterName counter;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "id") {
      ParseHandle(cursor, counter.id);
    } else if (key == "name") {
      ParseString(cursor, counter.name);
    } else {
      cursor.Skip();
    }
  }
  return counter;
}

DispatchCounters ParseDispatchCounters(JsonCursor& cursor) {
  DispatchCounters counters;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "dispatch_data" && cursor.Peek() == '{') {
      counters.dispatch = ParseRecord(cursor);
    } else if (key == "records" && cursor.Peek() == '[') {
      cursor.Enter('[');
      while (cursor.NextElement()) {
        if (!cursor.Enter('{')) break;
        std::pair<std::uint64_t, double> value = {kAbsent,
                                                  std::numeric_limits<double>::quiet_NaN()};
        for (std::string_view of_value; cursor.NextMember(of_value);) {
          if (of_value == "counter_id") {
            ParseHandle(cursor, value.first);
          } else if (of_value == "value") {
            cursor.Number(value.second);
          } else {
            cursor.Skip();
          }
        }
        counters.values.push_back(value);
      }
    } else {
      cursor.Skip();
    }
  }
  return counters;
}

Metadata ParseMetadata(JsonCursor& cursor) {
  Metadata metadata;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    if (key == "pid") {
      cursor.Integer(metadata.pid);
    } else if (key == "command" && cursor.Peek() == '[') {
      cursor.Enter('[');
      for (bool first = true; cursor.NextElement(); first = false) {
        if (first) {
          ParseString(cursor, metadata.program);
        } else {
          cursor.Skip();  // Arguments may contain secrets.
        }
      }
    } else {
      cursor.Skip();
    }
  }
  if (const std::size_t slash = metadata.program.rfind('/'); slash != std::string::npos)
    metadata.program.erase(0, slash + 1);
  return metadata;
}

}  // namespace headroom::rocprof
