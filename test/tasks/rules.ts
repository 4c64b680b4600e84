import { expect } from "vitest";
import { planAndApply } from "./many.ts";
import { goesTo, ownFilters } from "./own-filters.ts";
import { openShop } from "./shop.ts";
import type { Assistant, Task } from "./task.ts";

/** Tasks that change many links by one rule. */

const because = "what happens to many links is shown before it is done";
const isSpring = [{ field: "name", condition: "cont", value: "spring" }];
const sheet = "path,url\nswim,https://www.acme.example/swim\nbike,not an address";

const move = (assistant: Assistant, from: string, to: string) =>
  planAndApply(
    assistant,
    {
      operation: "update",
      filters: [{ field: "url", condition: "cont", value: from }],
      replace: [{ field: "url", from, to, match: "host" }],
    },
    goesTo(from),
  );

export const rules: readonly Task[] = [
  {
    sentence: "Move every link from old.acme.example to new.acme.example",
    start: openShop,
    script: (assistant) => move(assistant, "old.acme.example", "new.acme.example"),
    check: async ({ find, told, asked }) => {
      expect(await find("spring")).toMatchObject({
        url: "https://new.acme.example/spring?ref=1",
      });
      expect(await find("spring-shoes")).toMatchObject({ url: "https://new.acme.example/shoes" });
      expect(told.what).toBe("changed 2 links (url to new.acme.example)");
      expect(asked.join()).toContain("new.acme.example");
    },
    least: 2,
    because,
    onSpecified: ownFilters,
  },
  {
    sentence: "Move all links from old.acme.example to next.acme.example. No, undo the move",
    start: openShop,
    earlier: (assistant) => move(assistant, "old.acme.example", "next.acme.example"),
    script: async ({ call }) => {
      const { plan } = await call("undo");
      return (await call("apply_plan", { plan_id: plan.id })).job;
    },
    check: async ({ find }) =>
      expect(await find("spring-shoes")).toMatchObject({ url: "https://old.acme.example/shoes" }),
    least: 2,
    because,
  },
  {
    sentence: "Add utm_source=newsletter to all spring links",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "update",
        filters: isSpring,
        add_query: { field: "url", values: { utm_source: "newsletter" } },
      }),
    check: async ({ find }) =>
      expect(await find("spring")).toMatchObject({
        url: "https://old.acme.example/spring?ref=1&utm_source=newsletter",
      }),
    least: 2,
    because,
  },
  {
    sentence: "Put the test links under qa/",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "update",
        filters: [{ field: "name", condition: "cont", value: "test" }],
        path_prefix: "qa/",
      }),
    check: async ({ paths }) =>
      expect(await paths()).toEqual(expect.arrayContaining(["qa/test-1", "qa/test-2"])),
    least: 2,
    because,
  },
  {
    sentence: "Write Fall in place of Spring in the names of all links",
    start: openShop,
    script: (assistant) =>
      planAndApply(assistant, {
        operation: "update",
        filters: [{ field: "name", condition: "cont", value: "Spring" }],
        replace: [{ field: "name", from: "Spring", to: "Fall", match: "text" }],
      }),
    check: async ({ find }) => {
      expect(await find("spring")).toMatchObject({ name: "Fall sale" });
      expect(await find("spring-2025")).toMatchObject({ name: "Fall 2025" });
    },
    least: 2,
    because,
  },
  {
    sentence: `Import this sheet, and leave out what is wrong in it:\n${sheet}`,
    start: openShop,
    script: async ({ call }) => {
      const csv = sheet;
      const { plan } = await call("plan_links", { operation: "upsert", csv, skip_invalid: true });
      await call("apply_plan", { plan_id: plan.id });
      return plan.problems;
    },
    check: async ({ paths, told }) => {
      expect(await paths()).toContain("swim");
      expect(await paths()).not.toContain("bike");
      expect(told).toMatchObject([{ row: 3, field: "url" }]);
    },
    least: 2,
    because,
  },
  {
    sentence: "Make every http:// destination https://",
    start: async (place) => {
      await openShop(place);
      await place.plant({ path: "flyer", url: "http://www.acme.example/flyer" });
    },
    script: (assistant) =>
      planAndApply(
        assistant,
        {
          operation: "update",
          filters: [{ field: "url", condition: "start", value: "http://" }],
          replace: [{ field: "url", from: "http://", to: "https://", match: "text" }],
        },
        goesTo("http://"),
      ),
    check: async ({ find, told }) => {
      expect(await find("flyer")).toMatchObject({ url: "https://www.acme.example/flyer" });
      expect(told.counts.done).toBe(1);
    },
    least: 2,
    because,
    onSpecified: ownFilters,
  },
];
