// A minimal recorder of the shared memory: accepts processes, and copies the contents of their
// rings.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "headroom/detail/shared.h"

namespace headroom {

class TestRecorder {
 public:
  /// The data read from a ring between its opening and its closing.
  struct Ring {
    std::uint32_t index, kind;
    std::int32_t tid;
    std::string name;
    std::uint64_t dropped;
    bool closed;
    std::vector<headroom_record> records;
  };

  struct Process {
    headroom_shared* shared;
    int socket;
    std::vector<Ring> rings;

    std::string Name(std::uint32_t id) const {
      const headroom_name& name = headroom_names_of(shared)[id];
      return {headroom_text_of(shared) + name.offset, name.length};
    }
    std::string Place(std::uint32_t id) const { return Name(headroom_names_of(shared)[id].place); }
  };

  TestRecorder() {
    char folder[] = "/tmp/headroom_test_XXXXXX";
    if (mkdtemp(folder) == nullptr) std::abort();
    folder_ = folder;
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 16) != 0) {
      std::abort();
    }
  }
  ~TestRecorder() {
    for (const Process& process : processes_) {
      munmap(process.shared, process.shared->bytes);
      close(process.socket);
    }
    close(listener_);
    unlink(Path().c_str());
    rmdir(folder_.c_str());
  }
  TestRecorder(const TestRecorder&) = delete;
  TestRecorder& operator=(const TestRecorder&) = delete;

  std::string Path() const { return folder_ + "/socket"; }
  std::vector<Process>& processes() { return processes_; }

  /// Accepts processes that wait to be recorded.
  void Accept() {
    for (;;) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      std::uint64_t hello = 0;
      iovec part = {&hello, sizeof hello};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      msghdr message = {};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != sizeof hello ||
          hello != HEADROOM_SHARED_MAGIC || CMSG_FIRSTHDR(&message) == nullptr) {
        close(connection);
        continue;
      }
      int memory = -1;
      std::memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof memory);
      headroom_shared header;
      if (pread(memory, &header, sizeof header, 0) != sizeof header) std::abort();
      void* address = mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
      close(memory);
      if (address == MAP_FAILED) std::abort();
      processes_.push_back({static_cast<headroom_shared*>(address), connection, {}});
    }
  }

  /// Copies the contents of all rings, and frees the closed ones.
  void Drain() {
    Accept();
    for (Process& process : processes_) {
      for (std::uint32_t i = 0; i < process.shared->rings; ++i) DrainRing(process, i);
    }
  }

 private:
  static void DrainRing(Process& process, std::uint32_t index) {
    headroom_ring* shared = headroom_ring_at(process.shared, index);
    const std::uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
    if (state == HEADROOM_RING_FREE) return;
    Ring* ring = nullptr;
    for (Ring& known : process.rings) {
      if (known.index == index && !known.closed) ring = &known;
    }
    if (ring == nullptr) {
      process.rings.push_back(
          {index, shared->kind, shared->tid, std::string(shared->name), 0, false, {}});
      ring = &process.rings.back();
    }
    const std::uint64_t head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = shared->tail;
    const std::uint64_t size = process.shared->ring_records;
    const headroom_record* records = headroom_records_of(shared);
    while (tail < head) {
      const std::uint64_t at = tail & (size - 1);
      const std::uint64_t count = std::min(head - tail, size - at);
      ring->records.insert(ring->records.end(), records + at, records + at + count);
      tail += count;
    }
    __atomic_store_n(&shared->tail, tail, __ATOMIC_RELEASE);
    ring->dropped = __atomic_load_n(&shared->dropped, __ATOMIC_ACQUIRE);
    if (state == HEADROOM_RING_CLOSED) {
      ring->closed = true;
      __atomic_store_n(&shared->state, HEADROOM_RING_FREE, __ATOMIC_RELEASE);
    }
  }

  std::string folder_;
  int listener_;
  std::vector<Process> processes_;
};

}  // namespace headroom
