import { expect, test } from "vitest";
import type { Track } from "../api/timeline";
import { arranged, idsOf, matching, sortOf, textOfIds, toggled } from "./track_order";

const track = (id: number, name: string, spans: number) => ({ id, name, group: "GPU 0", spans }) as Track;
const TRACKS = [track(0, "stream 20", 5), track(1, "stream 7", 50), track(2, "thread 1", 500)];
const ids = (tracks: Track[]) => tracks.map((one) => one.id);
const none = new Set<number>();

test("pinned tracks come first, hidden ones are left out", () => {
  expect(ids(arranged(TRACKS, { hidden: none, pinned: none, sort: "recorded" }))).toEqual([0, 1, 2]);
  expect(ids(arranged(TRACKS, { hidden: new Set([1]), pinned: new Set([2]), sort: "recorded" }))).toEqual([2, 0]);
  expect(ids(arranged(TRACKS, { hidden: none, pinned: new Set([0]), sort: "spans" }))).toEqual([0, 2, 1]);
});

test("names are sorted by their numbers", () => {
  expect(ids(arranged(TRACKS, { hidden: none, pinned: none, sort: "name" }))).toEqual([1, 0, 2]);
});

test("a filter has words of the title", () => {
  expect(ids(matching(TRACKS, "gpu STREAM"))).toEqual([0, 1]);
  expect(ids(matching(TRACKS, ""))).toEqual([0, 1, 2]);
});

test("the address keeps ids", () => {
  expect(textOfIds(idsOf("3,1,x,-2,"))).toBe("1,3");
  expect(sortOf("spans")).toBe("spans");
  expect(sortOf("other")).toBe("recorded");
  expect([...toggled(new Set([1]), 1)]).toEqual([]);
  expect([...toggled(new Set([1]), 2)]).toEqual([1, 2]);
});
