import { expect } from "vitest";
import { callWithOwn } from "./own-filters.ts";
import { openShop } from "./shop.ts";
import type { Assistant, Result, Task } from "./task.ts";

/** Tasks that change several links at once. */

const byName = (value: string) => [{ field: "name", condition: "cont", value }];
const sheet = "path,name\nswim,Swim\nbike,Bike\nrun,Run\nwalk,Walk";
const importSheet = (assistant: Assistant) =>
  planAndApply(assistant, { operation: "upsert", csv: sheet });
const shownFirst = "what happens to many links is shown before it is done";

export const many: readonly Task[] = [
  {
    sentence: "Delete the test links",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, { operation: "delete", filters: byName("test") }),
    check: async ({ paths, asked }) => {
      expect(await paths()).toHaveLength(7);
      expect(asked.join()).toContain("test-1");
    },
    least: 2,
    because: shownFirst,
  },
  {
    sentence: "Point the spring links made last year at https://www.acme.example/archive",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "update",
        filters: [
          ...byName("spring"),
          { field: "created_at", condition: "gteq", value: "2025-01-01" },
          { field: "created_at", condition: "lt", value: "2026-01-01" },
        ],
        changes: { url: "https://www.acme.example/archive" },
      }),
    check: async ({ find }) => {
      expect(await find("spring-2025")).toMatchObject({ url: "https://www.acme.example/archive" });
      expect(await find("spring-shoes")).toMatchObject({ url: "https://old.acme.example/shoes" });
    },
    least: 2,
    because: shownFirst,
    onAltering: {
      check: async ({ told, find }) => {
        expect(told.counts).toMatchObject({ done: 1 });
        expect(await find("spring-2025")).toMatchObject({ url: "https://www.acme.example/last" });
      },
      because: "a destination that could not be read is not replaced",
    },
  },
  {
    sentence: "Let every spring link skip the page between",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "update",
        filters: byName("spring"),
        changes: { enable_forced_redirect: true },
      }),
    check: async ({ find }) =>
      expect(await find("spring-shoes")).toMatchObject({ enable_forced_redirect: true }),
    least: 2,
    because: shownFirst,
  },
  {
    sentence: "All links that open com.acme.legacy are to open com.acme.shop",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "update",
        filters: [{ field: "ios_app_bundle_id", condition: "eq", value: "com.acme.legacy" }],
        changes: { ios_app: { bundle_id: "com.acme.shop" } },
      }),
    check: async ({ find, asked }) => {
      const [moved, other] = [await find("spring-shoes"), await find("spring")];
      expect(moved.ios_app_id).toBe(other.ios_app_id);
      expect(asked.join()).toContain("Acme Legacy");
    },
    least: 2,
    because: shownFirst,
  },
  {
    sentence: "Export everything from this month",
    start: openShop,
    script: async ({ call, read }) => {
      const filters = [{ field: "created_at", condition: "gteq", value: "2026-01-01" }];
      const made = await call("export_links", { filters });
      return { count: made.export.count, text: await read(made.export.uri) };
    },
    check: ({ told }) => {
      expect(told.count).toBe(4);
      expect(told.text).toContain("spring-shoes");
    },
    least: 2,
    because: "the file is made, and read",
  },
  {
    sentence: `Import the sheet below. How far is it?\n${sheet}`,
    setting: { isSlow: true },
    earlier: importSheet,
    script: async ({ call }) => (await call("list_jobs")).jobs[0],
    check: ({ told }) => expect(told).toMatchObject({ state: "running", counts: { left: 3 } }),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: `Import the sheet below. Which rows are done?\n${sheet}`,
    setting: { isSlow: true },
    earlier: importSheet,
    script: async ({ call }, job) => {
      return (await call("get_job", { job_id: job.id, page: 1 })).job.receipts;
    },
    check: ({ told }) => expect(told).toHaveLength(4),
    least: 1,
    because: "the job was named when it began",
  },
  {
    sentence: `Import the sheet below. Stop, that is the wrong one\n${sheet}`,
    setting: { isSlow: true },
    earlier: importSheet,
    script: async ({ call }, job) => {
      return (await call("cancel_job", { job_id: job.id })).job;
    },
    check: ({ told }) => expect(told.state).toBe("cancelled"),
    least: 1,
    because: "the job was named when it began",
  },
  {
    sentence: `Import the sheet below. Delete walk. What did you do before that?\n${sheet}`,
    earlier: async (assistant) => {
      await importSheet(assistant);
      await planAndApply(assistant, { operation: "delete", filters: byName("walk") });
    },
    script: async ({ call }) => (await call("list_jobs")).jobs[1].what,
    check: ({ told }) => expect(told).toContain("4 links"),
    least: 1,
    because: "one list answers it",
  },
];

/** `isMeant` selects the links if the filters are only Waypost's and the server refuses them. */
export async function planAndApply(
  assistant: Assistant,
  args: object,
  isMeant: (link: Result) => boolean = () => false,
) {
  const { plan } = await callWithOwn(assistant, "plan_links", { ...args }, isMeant);
  return (await assistant.call("apply_plan", { plan_id: plan.id })).job;
}
