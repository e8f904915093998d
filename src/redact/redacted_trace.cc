#include "redact/redacted_trace.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "redact/argument_texts.h"
#include "redact/host_text.h"
#include "redact/leak_scan.h"
#include "store/carried_damage.h"
#include "store/row_copier.h"

namespace headroom {
namespace {

/// Meaning of the strings in a column.
enum class TextRole : std::uint8_t {
  kName,
  kListed,
  kOperator,
  kNumber,  ///< Number of a process or thread; some traces store a name instead.
  kCall,
  kKernel,
  kProcess,
  kArguments,
  kOfRecording,  ///< Arguments of an event about the recording.
};

template <typename Column>
constexpr bool HoldsTexts() {
  return std::same_as<typename std::remove_cvref_t<Column>::value_type, StringId>;
}

bool IsNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

/// Replaces the strings of a store that is not frozen yet, each string once per role.
class TextPass {
 public:
  TextPass(TraceStore& store, TextRedactor& redactor, ChangedColumns& changed)
      : store_(store), redactor_(redactor), changed_(changed) {
    for (auto& row : new_) row.resize(store.strings.size(), {StringId::None(), false});
  }

  void Run() {
    ForEachId([&](StringId& id, TextRole role, const std::string&) { Read(id, role); });
    RemoveHidden();
    ForEachId([&](StringId& id, TextRole role, const std::string& column) {
      std::int64_t& changed = changed_[column];
      const StringId now = id.valid() ? Known(id, role).now : id;
      changed += now == id ? 0 : 1;
      id = now;
    });
  }

 private:
  /// Replacement of a string in one role.
  struct Now {
    StringId now;
    bool known;
  };
  Now& Known(StringId old, TextRole role) {
    return new_[static_cast<std::size_t>(role)][old.index()];
  }

  /// Visits the ids in a fixed order, which determines which string gets the first token.
  template <typename Visit>
  void ForEachId(Visit&& visit) {
    Table("processes", store_.processes, visit);
    Table("threads", store_.threads, visit);
    Table("devices", store_.devices, visit);
    Table("host_events", store_.host_events, visit);
    Table("gpu_tasks", store_.gpu_tasks, visit);
    Table("syncs", store_.syncs, visit);
    Table("flows", store_.flows, visit);
    Table("counters", store_.counters, visit);
    Table("instants", store_.instants, visit);
    Table("collectives", store_.collectives, visit);
  }

  template <typename Rows, typename Visit>
  void Table(std::string_view table, Rows& rows, Visit&& visit) {
    rows.ForEachReadColumn([&](std::string_view name, auto& column) {
      if constexpr (HoldsTexts<decltype(column)>()) {
        const std::string full = std::string(table).append(".").append(name);
        for (std::size_t row = 0; row < column.size(); ++row)
          visit(column.MutablePending(row), RoleOf(rows, name, row), full);
      }
    });
  }

  template <typename Rows>
  TextRole RoleOf(const Rows& rows, std::string_view column, std::size_t row) const {
    if constexpr (std::same_as<Rows, InstantColumns<Column>>) {
      if (store_.Text(rows.category.Pending(row)) == "headroom") {
        if (column == "args") return TextRole::kOfRecording;
        if (column == "name") return TextRole::kListed;
      }
    }
    if (column == "args") return TextRole::kArguments;
    if (column == "pid" || column == "tid") return TextRole::kNumber;
    if (column == "category" || column == "dtype" || std::same_as<Rows, DeviceColumns<Column>>)
      return TextRole::kListed;
    if constexpr (std::same_as<Rows, GpuTaskColumns<Column>>) return TextRole::kKernel;
    if constexpr (std::same_as<Rows, ProcessColumns<Column>>) {
      if (column == "name") return TextRole::kProcess;
    }
    if constexpr (std::same_as<Rows, HostEventColumns<Column>>) {
      const HostEventKind kind = rows.kind.Pending(row);
      const bool call = kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
      if (column == "name" && call) return TextRole::kCall;
      if (column == "name" && kind == HostEventKind::kOperator) return TextRole::kOperator;
    }
    if constexpr (std::same_as<Rows, CollectiveColumns<Column>>) {
      if (column == "name") return TextRole::kListed;
    }
    return TextRole::kName;
  }

  void Read(StringId old, TextRole role) {
    if (!old.valid() || Known(old, role).known) return;
    const std::string text(store_.Text(old));  // Interning can invalidate the view.
    Known(old, role) = {Interned(Replaced(text, role), text, old), true};
  }

  StringId Interned(const std::string& now, const std::string& text, StringId id) {
    if (now == text) return id;
    return now.empty() ? StringId::None() : store_.strings.Intern(now);
  }

  /// Replaces strings that still contain removed text in encoded form. Requires all replacements to
  /// be known.
  void RemoveHidden() {
    const LeakScan scan(redactor_.Replacements(), redactor_);
    const auto in_argument = [&](std::string_view text) {
      return scan.Scan(text) ? redactor_.Hidden(text) : std::string(text);
    };
    for (std::size_t role = 0; role < kRoles; ++role) {
      const bool are_members = role == static_cast<std::size_t>(TextRole::kArguments) ||
                               role == static_cast<std::size_t>(TextRole::kOfRecording);
      for (std::size_t id = 0; id < new_[role].size(); ++id) {
        Now& row = new_[role][id];
        if (!row.known || !row.now.valid()) continue;
        const std::string text(store_.Text(row.now));
        if (role == static_cast<std::size_t>(TextRole::kNumber) && IsNumber(text)) continue;
        if (are_members) {
          row.now = Interned(WithTexts(text, in_argument), text, row.now);
        } else if (scan.Scan(text)) {
          const std::string original(store_.Text(StringId(id)));
          row.now = store_.strings.Intern(redactor_.Hidden(original));
        }
      }
    }
  }

  std::string Replaced(const std::string& text, TextRole role) {
    switch (role) {
      case TextRole::kArguments:
      case TextRole::kOfRecording:
        return redactor_.Arguments(text, role == TextRole::kOfRecording);
      case TextRole::kProcess:
        return redactor_.Process(text);
      case TextRole::kListed:
        return redactor_.Text(text, NameRole::kListed);
      case TextRole::kOperator:
        return redactor_.Text(text, NameRole::kOperator);
      case TextRole::kCall:
        return redactor_.Text(text, NameRole::kCall);
      case TextRole::kKernel:
        return redactor_.Text(text, NameRole::kKernel);
      case TextRole::kNumber:
        return IsNumber(text) ? text : redactor_.Text(text);
      case TextRole::kName:
        break;
    }
    return redactor_.Text(text);
  }

  TraceStore& store_;
  TextRedactor& redactor_;
  ChangedColumns& changed_;
  static constexpr std::size_t kRoles = static_cast<std::size_t>(TextRole::kOfRecording) + 1;
  std::array<std::vector<Now>, kRoles> new_;  ///< By role, then by the string's id.
};

/// Returns the names of kernels and of driver functions.
std::unordered_set<std::string_view> NamesOfPrograms(const TraceStore& store) {
  std::unordered_set<std::string_view> names;
  for (const StringId name : store.gpu_tasks.name.values()) {
    if (name.valid()) names.insert(store.Text(name));
  }
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    const HostEventKind kind = store.host_events.kind[row];
    const bool is_call = kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
    const StringId name = store.host_events.name[row];
    if (is_call && name.valid()) names.insert(store.Text(name));
  }
  return names;
}

}  // namespace

std::unique_ptr<TraceStore> RedactedTrace(const TraceStore& store, TextRedactor& redactor,
                                          ChangedColumns& changed) {
  const std::unordered_set<std::string_view> spelled = NamesOfPrograms(store);
  ForEachText(store, [&](std::string_view text) { redactor.Learn(text, spelled.contains(text)); });
  auto made = std::make_unique<TraceStore>();
  made->metadata = store.metadata;
  // "9.1.0.70" is a version here, so it is not an address elsewhere in the trace. The same holds
  // for "8.9.2.26-1+cuda12.1".
  for (const SoftwareVersion& row : store.metadata.versions) {
    const std::size_t end = row.version.empty() ? 0 : AddressAt(row.version, 0);
    if (end > 0) redactor.Keep(row.version.substr(0, end));
  }
  for (SoftwareVersion& row : made->metadata.versions) {
    row.name = redactor.Text(row.name);
    row.version = redactor.Text(row.version);
  }
  AddCarried(store.log, made->log);
  RowCopier copier(store, *made);
#define T(Name, member, sentence)                                          \
  if constexpr (!std::same_as<Name##Columns<Column>, StepColumns<Column>>) \
    copier.CopyAll(store.member, made->member);
  HEADROOM_TABLES(T)
#undef T
  for (const GpuTaskId task : store.collectives.task.values()) made->collectives.task.Append(task);
  TextPass(*made, redactor, changed).Run();
  made->Freeze(1);
  return made;
}

void ForEachText(const TraceStore& store, const std::function<void(std::string_view)>& visit) {
  std::vector<bool> seen(store.strings.size());
  const auto add = [&](std::string_view name, const auto& column) {
    if constexpr (HoldsTexts<decltype(column)>()) {
      const bool may_be_number = name == "pid" || name == "tid";
      for (std::size_t row = 0; row < column.size(); ++row) {
        const StringId id = column[row];
        if (!id.valid() || seen[id.index()]) continue;
        const std::string_view text = store.Text(id);
        if (may_be_number && IsNumber(text)) continue;  // It can still occur in another column.
        seen[id.index()] = true;
        if (name == "args") {
          ForEachArgumentText(text, visit);
        } else {
          visit(text);
        }
      }
    }
  };
#define T(Name, member, sentence) store.member.ForEachColumn(add);
  HEADROOM_TABLES(T)
#undef T
  for (const SoftwareVersion& row : store.metadata.versions) {
    visit(row.name);
    visit(row.version);
  }
}

}  // namespace headroom
