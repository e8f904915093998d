#include "ingest/chakra/node_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/protobuf_reader.h"
#include "ingest/chakra/node.h"

namespace headroom::chakra {
namespace {

/// After damage, only messages of at most this size are searched for, to bound the cost of hostile
/// bytes.
constexpr std::uint64_t kLargestResumed = std::uint64_t{1} << 16;

}  // namespace

bool LooksLikeTrace(std::string_view head) {
  const char* at = head.data();
  const char* const end = head.data() + head.size();
  std::uint64_t length = 0;
  const auto rest = [&] { return static_cast<std::uint64_t>(end - at); };
  const auto text = [&] {
    return std::string_view(at, static_cast<std::size_t>(std::min(rest(), length)));
  };
  if (!GetVarint(at, end, length)) return false;
  const std::optional<int> attributes = AttributesOfMetadata(text(), rest() < length);
  if (!attributes) return false;
  if (rest() <= length) return *attributes > 0;
  at += length;
  if (!GetVarint(at, end, length) || length == 0) return false;
  return IsNode(text(), rest() < length, /*as_found=*/true);
}

Result<bool> NodeStream::Have(std::size_t at, std::uint64_t size) {
  while (buffer_.size() - std::min(at, buffer_.size()) < size && !ended_) {
    const std::size_t used = buffer_.size();
    buffer_.resize(used + chunk_bytes_);
    const Result<std::size_t> n = source_.Read(std::span(buffer_).subspan(used));
    if (!n.ok()) return n.status();
    buffer_.resize(used + n.value());
    ended_ = n.value() < chunk_bytes_;
  }
  return at + size <= buffer_.size();
}

void NodeStream::DropPassed() {
  if (at_ < buffer_.size() && (at_ < chunk_bytes_ || at_ * 2 < buffer_.size())) return;
  buffer_.erase(0, at_);
  offset_ += static_cast<std::int64_t>(at_);
  at_ = 0;
}

Result<NodeStream::Found> NodeStream::MessageAt(std::size_t at, std::uint64_t limit,
                                                std::string_view& text, std::size_t& end) {
  const Result<bool> header = Have(at, kMaxVarintBytes);
  if (!header.ok()) return header.status();
  const char* p = buffer_.data() + at;
  std::uint64_t length = 0;
  if (!GetVarint(p, buffer_.data() + buffer_.size(), length))
    return buffer_.size() - at < kMaxVarintBytes ? Found::kCut : Found::kNone;
  if (length > limit) return Found::kTooLarge;
  const auto start = static_cast<std::size_t>(p - buffer_.data());
  const Result<bool> body = Have(start, length);
  if (!body.ok()) return body.status();
  if (!body.value()) return Found::kCut;
  text = std::string_view(buffer_).substr(start, static_cast<std::size_t>(length));
  end = start + static_cast<std::size_t>(length);
  return Found::kMessage;
}

Result<bool> NodeStream::IsNodeOrEnd(std::size_t at) {
  const Result<bool> more = Have(at, 1);
  if (!more.ok()) return more.status();
  if (!more.value()) return true;
  std::string_view text;
  std::size_t end = 0;
  const Result<Found> found = MessageAt(at, kLargestResumed, text, end);
  if (!found.ok()) return found.status();
  return found.value() == Found::kMessage && IsNode(text, /*cut=*/false, /*as_found=*/true);
}

Status NodeStream::Resynchronize() {
  for (++at_;; ++at_) {
    DropPassed();
    const Result<bool> more = Have(at_, 1);
    if (!more.ok()) return more.status();
    if (!more.value()) return Status::Ok();
    std::string_view text;
    std::size_t end = 0;
    const Result<Found> found = MessageAt(at_, kLargestResumed, text, end);
    if (!found.ok()) return found.status();
    if (found.value() != Found::kMessage || !IsNode(text, /*cut=*/false, /*as_found=*/true))
      continue;
    const Result<bool> behind = IsNodeOrEnd(end);
    if (!behind.ok()) return behind.status();
    if (behind.value()) return Status::Ok();
  }
}

Result<bool> NodeStream::Next(MessageText& message) {
  for (;;) {
    DropPassed();
    const Result<bool> more = Have(at_, 1);
    if (!more.ok()) return more.status();
    if (!more.value()) return false;

    const std::int64_t offset = offset_ + static_cast<std::int64_t>(at_);
    std::string_view text;
    std::size_t end = 0;
    const Result<Found> found = MessageAt(at_, max_message_bytes_, text, end);
    if (!found.ok()) return found.status();
    if (found.value() == Found::kMessage) {
      if (offset == 0 || IsNode(text, /*cut=*/false, /*as_found=*/false)) {
        message = {offset, text};
        at_ = end;
        return true;
      }
      // If a node or the end follows, the length is correct and only the content of this node is
      // damaged.
      const Result<bool> behind = IsNodeOrEnd(end);
      if (!behind.ok()) return behind.status();
      if (behind.value()) {
        ++lost_;
        log_.Add(ImportIssue::kLostEvent, offset, "a node is damaged");
        at_ = end;
        continue;
      }
    }
    if (const Status status = Resynchronize(); !status.ok()) return status;
    ++lost_;
    // The file ends inside a node: the writer or the copy was stopped.
    if (found.value() == Found::kCut && at_ == buffer_.size()) {
      log_.Add(ImportIssue::kTruncated, offset, "the last node is truncated");
    } else if (found.value() == Found::kTooLarge) {
      log_.Add(ImportIssue::kOversizedEvent, offset, "a node, or its length, is damaged");
    } else {
      log_.Add(ImportIssue::kLostEvent, offset,
               fmt::format("no readable node in {} bytes",
                           offset_ + static_cast<std::int64_t>(at_) - offset));
    }
  }
}

}  // namespace headroom::chakra
