#include "activity_recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <headroom/timer.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string_view>

namespace headroom::activity {
namespace {

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::abort();
}

class Keeper : public Sink {
 public:
  explicit Keeper(Recording* recording) : recording_(recording) {}
  void OnGpuTask(const GpuTask& task) override { recording_->tasks.emplace_back(task); }
  void OnApiCall(const ApiCall& call) override { recording_->calls.emplace_back(call); }
  void OnOverhead(const Overhead& event) override { recording_->overheads.emplace_back(event); }
  void OnSync(const Sync& sync) override { recording_->syncs.emplace_back(sync); }
  void OnRange(const Range& range) override {
    recording_->ranges.emplace_back(range);
    recording_->domains.emplace_back(range.domain);
  }
  void OnNaming(const Naming& naming) override { recording_->namings.emplace_back(naming); }
  void OnExternalId(const ExternalId& id) override { recording_->external_ids.push_back(id); }
  void OnMessage(const Message& message) override {
    recording_->messages[std::string(message.what)] += message.value;
    recording_->texts[std::string(message.what)].emplace_back(message.text);
  }

 private:
  Recording* recording_;
};

/// Data of one image.
class Image {
 public:
  Image(int memory, Keeper* keeper, Recording* recording) : keeper_(keeper), recording_(recording) {
    struct stat status {};
    if (fstat(memory, &status) != 0) Fail("fstat");
    void* base = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE,
                      MAP_SHARED, memory, 0);
    if (base == MAP_FAILED) Fail("mmap");
    close(memory);
    shared_ = static_cast<headroom_shared*>(base);
    for (std::uint32_t i = 0; i < shared_->rings; ++i) rings_.emplace_back(Decoder(NameOf()));
    first_ = headroom_impl_anchor_now(shared_->clock);
  }

  void Drain() {
    for (std::uint32_t i = 0; i < shared_->rings; ++i) DrainRing(i);
  }

  /// Returns the number of the step that a thread is in, or nothing.
  std::optional<std::int64_t> step() const { return step_; }

  void Capture(bool on) {
    for (std::uint32_t i = 0; i < shared_->rings; ++i) {
      headroom_ring* ring = headroom_ring_at(shared_, i);
      if (HEADROOM_IMPL_GET(ring->state) == HEADROOM_RING_OPEN &&
          ring->kind == HEADROOM_RING_ACTIVITY) {
        HEADROOM_IMPL_PUT(ControlOf(ring)->capture, on ? 1u : 0u);
      }
    }
  }

  void Finish() {
    const headroom_impl_anchor now = headroom_impl_anchor_now(shared_->clock);
    recording_->ns_per_tick =
        static_cast<double>(now.ns - first_.ns) / static_cast<double>(now.ticks - first_.ticks);
    for (std::uint32_t i = 0; i < shared_->rings; ++i) {
      rings_[i].decoder.Finish(*keeper_);
      recording_->unknown += rings_[i].decoder.unknown();
      recording_->dropped += HEADROOM_IMPL_GET(headroom_ring_at(shared_, i)->dropped);
    }
    munmap(shared_, shared_->bytes);
  }

 private:
  struct RingState {
    explicit RingState(Decoder d) : decoder(std::move(d)) {}
    Decoder decoder;
    std::vector<headroom_record> open;  ///< Regions.
  };

  Decoder::NameOf NameOf() {
    return [this](std::uint32_t name) {
      if (name >= HEADROOM_IMPL_GET(shared_->names)) return std::string_view();
      const headroom_name& entry = headroom_names_of(shared_)[name];
      return std::string_view(headroom_text_of(shared_) + entry.offset, entry.length);
    };
  }

  void DrainRing(std::uint32_t i) {
    headroom_ring* ring = headroom_ring_at(shared_, i);
    if (HEADROOM_IMPL_GET(ring->state) == HEADROOM_RING_FREE) return;
    const std::uint64_t head = HEADROOM_IMPL_GET(ring->head), mask = shared_->ring_records - 1;
    const headroom_record* records = headroom_records_of(ring);
    std::uint64_t tail = ring->tail;
    while (tail < head) {
      const std::uint64_t at = tail & mask;
      const std::uint64_t count = std::min(head - tail, shared_->ring_records - at);
      const std::span piece(records + at, count);
      if (ring->kind == HEADROOM_RING_ACTIVITY) {
        rings_[i].decoder.Decode(piece, *keeper_);
      } else {
        ReadRegions(piece, *ring, rings_[i]);
      }
      tail += count;
    }
    HEADROOM_IMPL_PUT(ring->tail, tail);
  }

  void ReadRegions(std::span<const headroom_record> records, const headroom_ring& ring,
                   RingState& state) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const headroom_record& record = records[i];
      const std::uint32_t kind = record.info & 0xff;
      if (kind == HEADROOM_KIND_BEGIN) state.open.push_back(record);
      if (kind == HEADROOM_KIND_STEP) {
        state.open.push_back(record);
        step_ = static_cast<std::int64_t>(records[++i].ticks);
      }
      if (kind == HEADROOM_KIND_END && !state.open.empty()) {
        const headroom_record begin = state.open.back();
        state.open.pop_back();
        if ((begin.info & 0xff) == HEADROOM_KIND_STEP) step_.reset();
        recording_->regions.push_back({.name = std::string(NameOf()(begin.name)),
                                       .tid = static_cast<std::uint32_t>(ring.tid),
                                       .start = begin.ticks,
                                       .end = record.ticks});
      }
    }
  }

  Keeper* keeper_;
  Recording* recording_;
  headroom_shared* shared_;
  headroom_impl_anchor first_;
  std::vector<RingState> rings_;
  std::optional<std::int64_t> step_;
};

/// Receives the descriptor that an image sends. Returns -1 if the image closed the connection.
int ReceiveMemory(int socket) {
  std::uint64_t hello = 0;
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof hello) return -1;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || hello != HEADROOM_SHARED_MAGIC) Fail("what an image sent");
  int memory = -1;
  std::memcpy(&memory, CMSG_DATA(rights), sizeof memory);
  return memory;
}

pid_t Spawn(const RecordOptions& options, const std::string& socket_path) {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t sign = text.find('=');
    if (sign != std::string_view::npos)
      environment[std::string(text.substr(0, sign))] = text.substr(sign + 1);
  }
  environment["HEADROOM_SOCKET"] = socket_path;
  for (const auto& [name, value] : options.environment) environment[name] = value;
  std::erase_if(environment, [](const auto& entry) { return entry.second.empty(); });
  std::vector<std::string> settings;
  settings.reserve(environment.size());
  for (const auto& [name, value] : environment)
    settings.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> pointers, words;
  for (std::string& setting : settings) pointers.push_back(setting.data());
  pointers.push_back(nullptr);
  for (const std::string& word : options.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawnp(&pid, words[0], nullptr, nullptr, words.data(), pointers.data()) != 0)
    Fail(words[0]);
  return pid;
}

}  // namespace

Recording Record(const RecordOptions& options) {
  char folder[] = "/tmp/headroom-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) Fail("mkdtemp");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 16) != 0) {
    Fail("listen");
  }

  Recording recording;
  Keeper keeper(&recording);
  std::deque<Image> images;
  std::vector<pollfd> sockets = {{.fd = listener, .events = POLLIN, .revents = 0}};
  const pid_t pid = Spawn(options, address.sun_path);
  const auto drain = [&] {
    for (Image& image : images) image.Drain();
  };
  bool ended = false;
  for (;;) {
    if (poll(sockets.data(), sockets.size(), 1) < 0) Fail("poll");
    for (std::size_t i = sockets.size() - 1; i > 0; --i) {
      if (sockets[i].revents == 0) continue;
      const int memory = ReceiveMemory(sockets[i].fd);
      if (memory >= 0) {
        images.emplace_back(memory, &keeper, &recording);
      } else {
        close(sockets[i].fd);
        sockets.erase(sockets.begin() + static_cast<long>(i));
      }
    }
    if (sockets[0].revents != 0)
      sockets.push_back({.fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC),
                         .events = POLLIN,
                         .revents = 0});
    if (!options.drain_at_end) drain();
    if (options.steps) {
      bool inside = false;
      for (const Image& image : images) {
        const std::optional<std::int64_t> step = image.step();
        inside |= step && *step >= options.steps->first && *step <= options.steps->second;
      }
      for (Image& image : images) image.Capture(inside);
    }
    // An image may have connected just before the end.
    if (ended && sockets.size() == 1 && sockets[0].revents == 0) break;
    int status = 0;
    if (!ended && waitpid(pid, &status, WNOHANG) == pid) {
      ended = true;
      recording.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
  drain();
  recording.images = static_cast<int>(images.size());
  for (Image& image : images) image.Finish();
  close(listener);
  unlink(address.sun_path);
  rmdir(folder);
  return recording;
}

}  // namespace headroom::activity
