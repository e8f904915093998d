import { expect, test } from "vitest";
import type { IdleRow, KernelRow } from "../api/report_tables";
import { eventsOf } from "./finding_events";

const kernel = (name: string, total_us: number, kind: string): KernelRow =>
  ({ name, total_us, class: kind }) as KernelRow;
const idle = (host_wait_ms: number, kernel_wait_ms: number): IdleRow => ({
  rank: null,
  device: 0,
  stream: 7,
  host_wait_ms,
  kernel_wait_ms,
  other_ms: 0,
});

const report = {
  kernels: [
    kernel("direct_copy_kernel_cuda", 10, "copy"),
    kernel("CatArrayBatchedCopy", 30, "copy"),
    kernel("Memcpy DtoD (Device -> Device)", 90, "memcpy"),
    kernel("sm90_xmma_gemm", 5, "matmul"),
    kernel("fused_kernel", 4, "elementwise"),
  ],
  idle: [idle(0, 3)],
};

test("copies on the GPU are kernels, not what the driver copies", () => {
  expect(eventsOf("device-copies", report)?.find).toBe("CatArrayBatchedCopy");
  expect(eventsOf("device-copies", { ...report, kernels: [] })).toBeNull();
});

test("there is no link to what the trace does not have", () => {
  expect(eventsOf("late-launches", report)).toBeNull();
  expect(eventsOf("late-launches", { ...report, idle: [idle(0, 0), idle(2, 0)] })?.find).toBe(
    "idle: launched too late",
  );
  expect(eventsOf("gaps-between-kernels", report)?.find).toBe("idle: waits for other GPU work");
  expect(eventsOf("exposed-copies", report)).toBeNull();
  expect(eventsOf("no-such-finding", report)).toBeNull();
});

test("a class is found by a text, or by the longest of its kernels, and says which", () => {
  expect(eventsOf("idle-tensor-cores", report)).toEqual({ find: "gemm", title: "Its events in the timeline" });
  expect(eventsOf("unfused-elementwise", report)).toEqual({
    find: "fused_kernel",
    title: "The longest of its kernels in the timeline",
  });
});
