import { expect } from "vitest";
import type { Visit } from "../../src/stats/visit.ts";
import { openForEach } from "./open-for.ts";
import { createWorld, type World } from "./world.ts";

/**
 * Links at these paths, made before each test of a file; their visits are noted as a link host does
 * it, and asked for as any client would. The world's today is 2026-01-15.
 */
export function openVisitedLinks(paths: readonly string[], take: (world: World) => unknown) {
  let world: World;
  const ids: Record<string, string> = {};

  async function makeLink(path: string): Promise<void> {
    const body = { path, name: path, url: "https://shop.example/" };
    ids[path] = (await world.call("POST", "/links", { body })).body.id;
  }

  openForEach(createWorld, async (opened) => {
    world = opened;
    take(opened);
    for (const path of paths) await makeLink(path);
  });

  const ask = (query: string, key?: string) =>
    world.call("GET", "/link_stats", { query, ...(key !== undefined && { key }) });

  return {
    /** By their paths. */
    ids,
    makeLink,
    note: (path: string, at: string, more: Partial<Visit> = {}): void => {
      world.clicks.noteVisit({
        projectId: world.project.id,
        linkId: ids[path] ?? "",
        what: "click",
        at: Date.parse(at),
        platform: "desktop",
        source: "address",
        ...more,
      });
    },
    ask,
    /** What is told; it must be. */
    read: async (query: string) => {
      const { status, body, text } = await ask(query);
      expect(status, text).toBe(200);
      return body.stats;
    },
  };
}

/** The clicks of each row. */
export const listClicks = (stats: {
  readonly rows: readonly { readonly key: string; readonly clicks: number }[];
}) => Object.fromEntries(stats.rows.map(({ key, clicks }) => [key, clicks]));
