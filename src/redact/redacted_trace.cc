#include "redact/redacted_trace.h"

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/carried_damage.h"
#include "store/row_copier.h"

namespace headroom {
namespace {

/// What a column of texts holds.
enum class TextRole : std::uint8_t {
  kPublic,  ///< Of the vendor.
  kName,
  kCall,
  kKernel,
  kProcess,
  kArguments,
  kOfRecording,  ///< Arguments of what a recording says of itself.
};

template <typename Column>
constexpr bool HoldsTexts() {
  return std::same_as<typename std::remove_cvref_t<Column>::value_type, StringId>;
}

/// Replaces the texts of a store that is not frozen yet, each once for each role.
class TextPass {
 public:
  TextPass(TraceStore& store, TextRedactor& redactor, ChangedColumns& changed)
      : store_(store), redactor_(redactor), changed_(changed) {}

  void Run() {
    // What may begin like a path or hold a host comes first: their words are then known to all.
    Table("processes", store_.processes);
    Table("threads", store_.threads);
    Table("host_events", store_.host_events);
    Table("gpu_tasks", store_.gpu_tasks);
    Table("syncs", store_.syncs);
    Table("flows", store_.flows);
    Table("counters", store_.counters);
    Table("instants", store_.instants);
    Table("collectives", store_.collectives);
  }

 private:
  template <typename Rows>
  void Table(std::string_view table, Rows& rows) {
    rows.ForEachReadColumn([&](std::string_view name, auto& column) {
      if constexpr (HoldsTexts<decltype(column)>()) {
        std::int64_t& changed = changed_[std::string(table) + "." + std::string(name)];
        for (std::size_t row = 0; row < column.size(); ++row) {
          StringId& id = column.MutablePending(row);
          const StringId now = New(id, RoleOf(rows, name, row));
          changed += now == id ? 0 : 1;
          id = now;
        }
      }
    });
  }

  template <typename Rows>
  TextRole RoleOf(const Rows& rows, std::string_view column, std::size_t row) const {
    if constexpr (std::same_as<Rows, InstantColumns<Column>>) {
      if (column == "args" && store_.Text(rows.category.Pending(row)) == "headroom")
        return TextRole::kOfRecording;
    }
    if (column == "args") return TextRole::kArguments;
    if constexpr (std::same_as<Rows, GpuTaskColumns<Column>>) return TextRole::kKernel;
    if constexpr (std::same_as<Rows, ProcessColumns<Column>>) return TextRole::kProcess;
    if constexpr (std::same_as<Rows, HostEventColumns<Column>>) {
      const HostEventKind kind = rows.kind.Pending(row);
      const bool call = kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
      if (column == "name" && call) return TextRole::kCall;
    }
    return TextRole::kName;
  }

  StringId New(StringId old, TextRole role) {
    if (!old.valid() || role == TextRole::kPublic) return old;
    auto& known = new_[static_cast<std::size_t>(role)];
    const auto [at, is_new] = known.try_emplace(old.index());
    if (is_new) {
      const std::string text(store_.Text(old));  // Interning may move what the view is of.
      const std::string now = Replaced(text, role);
      at->second = now == text ? old : now.empty() ? StringId::None() : store_.strings.Intern(now);
    }
    return at->second;
  }

  std::string Replaced(const std::string& text, TextRole role) {
    switch (role) {
      case TextRole::kArguments:
      case TextRole::kOfRecording:
        return redactor_.Arguments(text, role == TextRole::kOfRecording);
      case TextRole::kProcess:
        return redactor_.Process(text);
      case TextRole::kCall:
        return redactor_.Text(text, NameRole::kCall);
      case TextRole::kKernel:
        return redactor_.Text(text, NameRole::kKernel);
      case TextRole::kName:
      case TextRole::kPublic:
        break;
    }
    return redactor_.Text(text);
  }

  TraceStore& store_;
  TextRedactor& redactor_;
  ChangedColumns& changed_;
  static constexpr std::size_t kRoles = 7;
  std::unordered_map<std::uint32_t, StringId> new_[kRoles];
};

}  // namespace

std::unique_ptr<TraceStore> RedactedTrace(const TraceStore& store, TextRedactor& redactor,
                                          ChangedColumns& changed) {
  for (const std::string_view text : TextsOf(store)) redactor.Learn(text);
  auto made = std::make_unique<TraceStore>();
  made->metadata = store.metadata;
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

std::vector<std::string_view> TextsOf(const TraceStore& store) {
  std::vector<bool> seen(store.strings.size());
  std::vector<std::string_view> texts;
  const auto add = [&](std::string_view, const auto& column) {
    if constexpr (HoldsTexts<decltype(column)>()) {
      for (std::size_t row = 0; row < column.size(); ++row) {
        const StringId id = column[row];
        if (!id.valid() || seen[id.index()]) continue;
        seen[id.index()] = true;
        texts.push_back(store.Text(id));
      }
    }
  };
#define T(Name, member, sentence) store.member.ForEachColumn(add);
  HEADROOM_TABLES(T)
#undef T
  for (const SoftwareVersion& row : store.metadata.versions) texts.emplace_back(row.version);
  return texts;
}

}  // namespace headroom
