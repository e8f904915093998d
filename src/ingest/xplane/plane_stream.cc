#include "ingest/xplane/plane_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/protobuf_reader.h"
#include "ingest/xplane/xplane_fields.h"

namespace headroom::xplane {
namespace {

/// Enough bytes of a plane to contain its name.
constexpr std::size_t kNameWithin = 1024;
constexpr std::size_t kLongestHeader = 2 * kMaxVarintBytes;
/// Maximum size of a message in protobuf.
constexpr std::uint64_t kLargestPlane = std::uint64_t{2} << 30;

bool IsKnownName(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"/host:", "/device:", "Task Environment",
                                                      "#Chip"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view known) { return name.starts_with(known); });
}

/// The beginning of a plane.
struct PlaneHead {
  bool well_formed = false;  ///< True if the available part is valid.
  std::string_view name;
};

PlaneHead ReadHead(std::string_view text) {
  PlaneHead head;
  ProtobufReader reader(text);
  // Reads up to the first field that may exceed the available bytes; all writers put the name
  // before it.
  while (reader.Next()) {
    const auto field = reader.as<PlaneField>();
    const bool is_id = field == PlaneField::kId;
    if (reader.type() != (is_id ? WireType::kVarint : WireType::kBytes)) return head;
    if (field == PlaneField::kName) head.name = reader.bytes();
    if (!is_id) break;
  }
  head.well_formed = true;
  return head;
}

bool IsPlaneKey(char c) {
  return c == static_cast<char>(FieldKey(SpaceField::kPlane, WireType::kBytes));
}

}  // namespace

bool LooksLikeTrace(std::string_view head) {
  if (head.empty() || !IsPlaneKey(head[0])) return false;
  const char* at = head.data() + 1;
  const char* const end = head.data() + head.size();
  std::uint64_t length = 0;
  if (!GetVarint(at, end, length) || length > kLargestPlane) return false;
  const auto rest = static_cast<std::uint64_t>(end - at);
  return IsKnownName(
      ReadHead({at, static_cast<std::size_t>(std::min({rest, length, std::uint64_t{kNameWithin}}))})
          .name);
}

Status PlaneStream::Fill(std::size_t at, std::size_t size) {
  while (head_.size() < at + size && !ended_) {
    const std::size_t used = head_.size();
    head_.resize(used + chunk_bytes_);
    const Result<std::size_t> n = source_.Read(std::span(head_).subspan(used));
    if (!n.ok()) return n.status();
    head_.resize(used + n.value());
    ended_ = n.value() < chunk_bytes_;
  }
  return Status::Ok();
}

void PlaneStream::Drop(std::size_t bytes) {
  at_ += bytes;
  if (at_ < head_.size() && at_ < chunk_bytes_) return;
  head_.erase(0, at_);
  offset_ += static_cast<std::int64_t>(at_);
  at_ = 0;
}

PlaneStream::Found PlaneStream::FieldHere(Field& field) const {
  const char* p = head_.data() + at_;
  const char* const end = head_.data() + head_.size();
  std::uint64_t key = 0;
  const bool has_key = GetVarint(p, end, key);
  const bool whole = has_key && GetVarint(p, end, field.length);
  const auto here = static_cast<std::size_t>(end - (head_.data() + at_));
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.header = static_cast<std::size_t>(p - (head_.data() + at_));
  constexpr std::uint64_t kHighestField = 15;  // Leaves room for additions to the format.
  const bool plausible = !has_key || ((key & 7) == static_cast<std::uint64_t>(WireType::kBytes) &&
                                      key >= 8 && key >> 3 <= kHighestField);
  if (!plausible || (!whole && here >= kLongestHeader)) return Found::kNone;
  if (!whole) return Found::kCut;
  if (field.length > kLargestPlane) return Found::kNone;
  if (field.number != static_cast<std::uint32_t>(SpaceField::kPlane)) return Found::kField;
  const std::string_view body(p, std::min({static_cast<std::size_t>(end - p),
                                           static_cast<std::size_t>(field.length), kNameWithin}));
  return ReadHead(body).well_formed ? Found::kField : Found::kNone;
}

Status PlaneStream::TakeBody(std::uint64_t length) {
  const auto wanted = static_cast<std::size_t>(length);
  // Allocates for the bytes read so far, because a damaged file may state any length.
  const auto make_room = [&](std::size_t bytes) {
    if (body_.size() < bytes) body_.Resize(std::min(wanted, std::max(bytes, 2 * body_.size())));
  };
  body_size_ = std::min(wanted, head_.size() - at_);
  make_room(body_size_);
  if (body_size_ > 0) std::memcpy(body_.data(), head_.data() + at_, body_size_);
  Drop(body_size_);
  while (body_size_ < wanted && !ended_) {
    // Reads in steps, so that progress is visible.
    const std::size_t step = std::min<std::size_t>(wanted - body_size_, std::size_t{4} << 20);
    make_room(body_size_ + step);
    const Result<std::size_t> n = source_.Read({body_.data() + body_size_, step});
    if (!n.ok()) return n.status();
    body_size_ += n.value();
    offset_ += static_cast<std::int64_t>(n.value());
    ended_ = n.value() < step;
  }
  return Status::Ok();
}

Status PlaneStream::SkipBody(std::uint64_t length, bool& cut) {
  while (length > 0) {
    if (Status status = Fill(at_, 1); !status.ok()) return status;
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(length, head_.size() - at_));
    if (here == 0) break;
    length -= here;
    Drop(here);
  }
  cut = length > 0;
  return Status::Ok();
}

Status PlaneStream::Resynchronize() {
  for (Drop(1);; Drop(1)) {
    if (Status status = Fill(at_, kLongestHeader + kNameWithin); !status.ok()) return status;
    if (at_ == head_.size()) return Status::Ok();
    if (LooksLikeTrace(std::string_view(head_).substr(at_))) return Status::Ok();
  }
}

Result<bool> PlaneStream::Next(PlaneText& plane) {
  for (;;) {
    if (Status status = Fill(at_, kLongestHeader + kNameWithin); !status.ok()) return status;
    if (at_ == head_.size()) return false;
    const std::int64_t start = offset_ + static_cast<std::int64_t>(at_);
    Field field;
    const Found found = FieldHere(field);
    if (found != Found::kField) {
      if (Status status = Resynchronize(); !status.ok()) return status;
      const std::int64_t now = offset_ + static_cast<std::int64_t>(at_);
      if (found == Found::kCut && at_ == head_.size()) {
        log_.Add(ImportIssue::kTruncated, start, "the last plane is truncated");
      } else {
        log_.Add(ImportIssue::kLostEvent, start,
                 fmt::format("no readable plane in {} bytes", now - start));
      }
      continue;
    }
    const std::string_view head = std::string_view(head_).substr(
        at_ + field.header, static_cast<std::size_t>(
                                std::min<std::uint64_t>(field.length, std::uint64_t{kNameWithin})));
    const bool is_plane = field.number == static_cast<std::uint32_t>(SpaceField::kPlane);
    const bool is_error = field.number == static_cast<std::uint32_t>(SpaceField::kError);
    if (is_error) log_.Add(ImportIssue::kRecorderWarning, start, std::string(head));
    // Skips program texts, which are long and unused.
    const bool skipped = !is_plane || ReadHead(head).name.starts_with("/host:metadata");
    Drop(field.header);
    bool cut = false;
    if (skipped) {
      if (Status status = SkipBody(field.length, cut); !status.ok()) return status;
    } else {
      plane.offset = start + static_cast<std::int64_t>(field.header);
      if (Status status = TakeBody(field.length); !status.ok()) return status;
      cut = body_size_ < field.length;
      plane.text = {body_.data(), body_size_};
      plane.name = ReadHead(plane.text).name;
      plane.cut = cut;
    }
    if (cut) log_.Add(ImportIssue::kTruncated, start, "the last plane is truncated");
    if (!skipped) return true;
  }
}

}  // namespace headroom::xplane
