import { expect } from "vitest";
import { listPaths } from "./finding.ts";
import { openShop } from "./shop.ts";
import type { Task } from "./task.ts";

/** Tasks that find links by destination, app or word. */

const one = "one list answers it";

export const anything: readonly Task[] = [
  {
    sentence: "Which links still point at old.acme.example?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [{ field: "url", condition: "cont", value: "old.acme.example" }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told.toSorted()).toEqual(["spring", "spring-shoes"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Find the link to our pricing page",
    start: openShop,
    script: async ({ call }) => listPaths(await call("list_links", { search: "pricing" })),
    check: ({ told }) => expect(told).toEqual(["plans"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Which links open Acme Legacy?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [{ field: "ios_app_name", condition: "eq", value: "Acme Legacy" }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told).toEqual(["spring-shoes"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Which links open an app on iOS but none on Android?",
    start: openShop,
    script: async ({ call }) => {
      const filters = [
        { field: "ios_app_name", condition: "empty", value: false },
        { field: "android_app_name", condition: "empty", value: true },
      ];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told).toEqual(["spring-shoes"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Which of the links have no destination of their own on Android?",
    start: async (place) => {
      await openShop(place);
      const android_fallback_url = "https://www.acme.example/android";
      await place.plant({ path: "boats", android_fallback_url });
    },
    script: async ({ call }) => {
      const filters = [{ field: "android_fallback_url", condition: "empty", value: true }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => {
      expect(told).toHaveLength(9);
      expect(told).not.toContain("boats");
    },
    least: 1,
    because: one,
  },
  {
    sentence: "Which links were made in the console?",
    start: async (place) => {
      await openShop(place);
      await place.plant({ path: "boats", created_via: "console" });
    },
    script: async ({ call }) => {
      const filters = [{ field: "created_via", condition: "eq", value: "console" }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told).toEqual(["boats"]),
    least: 1,
    because: one,
  },
  {
    sentence: "Export the links to old.acme.example as JSON",
    start: openShop,
    script: async ({ call, read }) => {
      const filters = [{ field: "url", condition: "cont", value: "old.acme.example" }];
      const made = await call("export_links", { filters, format: "json" });
      return JSON.parse(await read(made.export.uri));
    },
    check: ({ told }) => expect(told).toHaveLength(2),
    least: 2,
    because: "the file is made, and read",
  },
  {
    sentence: "Do any links go to old.acme.example?",
    start: openShop,
    setting: { isRemote: true },
    script: async ({ call }) => {
      const filters = [{ field: "url", condition: "cont", value: "old.acme.example" }];
      return listPaths(await call("list_links", { filters }));
    },
    check: ({ told }) => expect(told.toSorted()).toEqual(["spring", "spring-shoes"]),
    least: 1,
    because: one,
  },
];
