// Links from table rows to the events that they sum up.
import { ChartNoAxesGantt, ListTree, SlidersHorizontal } from "lucide-preact";
import { embeddedAnswers } from "../api/embedded";
import { sqlOf } from "../model/row_sql";
import { halfTimeOf } from "../model/scenario";
import type { TableId } from "../model/table_kinds";
import { writeState } from "../model/url_state";
import type { RowLink } from "./data_table";

/** Kinds that a scenario can select by name, with a word for a row. */
const SELECTABLE: Partial<Record<TableId, string>> = { operators: "operator", kernels: "kernel", layers: "layer" };

/**
 * Returns links to the events, to the calls or kernels, and to a forecast with half the time.
 *
 * @param name  name of the events
 */
export function linksOfEvents(kind: TableId, name: string, hasGpuTime: boolean): RowLink[] {
  const links: RowLink[] = [
    {
      title: "Its events in the timeline",
      href: writeState({ view: "timeline", query: { find: `"${name}"` } }),
      icon: ChartNoAxesGantt,
    },
  ];
  const parts = hasGpuTime ? sqlOf(kind, name) : null;
  if (parts !== null)
    links.push({
      title: parts.title,
      href: writeState({ view: "sql", query: { sql: parts.sql } }),
      icon: ListTree,
    });
  const selectable = SELECTABLE[kind];
  if (hasGpuTime && selectable !== undefined)
    links.push({
      title: `What if this ${selectable} took half the time`,
      href: writeState({ view: "what-if", query: { scenario: halfTimeOf(name) } }),
      icon: SlidersHorizontal,
    });
  return links;
}

/** Returns the links as a property of a table of rows with GPU time; nothing in a page that is a file. */
export const linksOfRows = <Row>(
  kindOf: (row: Row) => TableId | null,
  nameOf: (row: Row) => string,
): { linksOf?: (row: Row) => RowLink[] } =>
  embeddedAnswers() !== null
    ? {}
    : {
        linksOf: (row: Row) => {
          const kind = kindOf(row);
          return kind === null ? [] : linksOfEvents(kind, nameOf(row), true);
        },
      };
