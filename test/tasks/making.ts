import { expect } from "vitest";
import { openShop } from "./shop.ts";
import type { Result, Task } from "./task.ts";

/** Tasks that create links. */

const sheet = [
  "path,name,url",
  "autumn,Autumn,https://www.acme.example/autumn",
  "winter,Winter,https://www.acme.example/winter",
].join("\n");

export const making: readonly Task[] = [
  {
    sentence: "Make a link called Winter sale that goes to https://www.acme.example/winter",
    start: openShop,
    script: async ({ call }) => {
      const url = "https://www.acme.example/winter";
      return (await call("create_link", { name: "Winter sale", path: "winter-sale", url })).link;
    },
    check: async ({ told, find }) => {
      expect(await find("winter-sale")).toMatchObject({ url: "https://www.acme.example/winter" });
      expect(told.address).toContain("/winter-sale");
    },
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence:
      "Make a link for the swim week to https://www.acme.example/swim that opens com.acme.shop " +
      "on iPhones and Android",
    start: openShop,
    script: async ({ call }) => {
      const made = await call("create_link", {
        path: "swim-week",
        url: "https://www.acme.example/swim",
        ios_app: { bundle_id: "com.acme.shop" },
        android_app: { package_name: "com.acme.shop" },
      });
      return made.link;
    },
    check: async ({ find }) => {
      const link = await find("swim-week");
      expect([link.ios_app_id, link.android_app_id]).not.toContain(null);
    },
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Shorten https://www.acme.example/a/very/long/page",
    script: async ({ call }) => {
      const url = "https://www.acme.example/a/very/long/page";
      return (await call("shorten_link", { url })).link;
    },
    check: async ({ told, api }) => {
      const { body } = await api("GET", "/links?q[shortened_path_present]=true");
      expect(body.links).toMatchObject([{ shortened_path: told.shortened_path }]);
    },
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Point /plans to https://www.acme.example/prices, and replace the old one",
    start: openShop,
    script: ({ call }) =>
      call("upsert_link", { path: "plans", url: "https://www.acme.example/prices" }),
    check: async ({ find }) =>
      expect(await find("plans")).toMatchObject({
        name: "What it costs",
        url: "https://www.acme.example/prices",
      }),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Just make me a new link, I will fill it in later",
    script: ({ call }) => call("create_link"),
    check: async ({ told, paths }) => {
      expect(await paths()).toEqual([told.link.path]);
      const fields = told.problems.map(({ field }: Result) => field);
      expect(fields).toEqual(["ios_fallback_url", "android_fallback_url", "url"]);
    },
    least: 1,
    because: "nothing else is wanted",
    onAltering: {
      check: async ({ told, paths }) => {
        expect(await paths()).toEqual([told.link.path]);
        expect(told.problems).toMatchObject([{ field: "ios_deferred_deep_linking_enabled" }]);
      },
      because: "an absent destination is unknown, and the server's field has the wrong type",
    },
  },
  {
    sentence: `Make links of this sheet:\n${sheet}`,
    start: openShop,
    script: async ({ call }) => {
      const { plan } = await call("plan_links", { operation: "upsert", csv: sheet });
      return (await call("apply_plan", { plan_id: plan.id })).job.counts;
    },
    check: async ({ told, find }) => {
      expect(told.done).toBe(2);
      expect(await find("autumn")).toMatchObject({ name: "Autumn" });
      expect(await find("winter")).toMatchObject({ name: "Winter" });
    },
    least: 2,
    because: "many links are shown before they are made",
  },
  {
    sentence: "Make links swim, bike and run, each to its page below https://acme.example/sport",
    start: openShop,
    script: async ({ call }) => {
      const rows = ["swim", "bike", "run"].map((path) => ({
        path,
        url: `https://acme.example/sport/${path}`,
      }));
      const { plan } = await call("plan_links", { operation: "upsert", rows });
      await call("apply_plan", { plan_id: plan.id });
    },
    check: async ({ find }) =>
      expect(await find("bike")).toMatchObject({ url: "https://acme.example/sport/bike" }),
    least: 2,
    because: "many links are shown before they are made",
  },
  {
    sentence: "What would people see on a link to https://www.acme.example/new? Do not make it yet",
    start: openShop,
    script: async ({ call }) => {
      const { visits } = await call("explain_link", { url: "https://www.acme.example/new" });
      return visits;
    },
    check: async ({ told, paths }) => {
      expect(JSON.stringify(told.desktop)).toContain("https://www.acme.example/new");
      expect(await paths()).toHaveLength(9);
    },
    least: 1,
    because: "one question answers it",
  },
  {
    sentence: "Make a link promo that goes to https://www.acme.example/offer",
    start: openShop,
    script: async ({ call }) => {
      const url = "https://www.acme.example/offer";
      return (await call("create_link", { path: "promo", url })).error;
    },
    check: async ({ told, find }) => {
      expect(told).toMatchObject({ code: "validation_failed", effect: "none" });
      expect(await find("promo")).toMatchObject({ url: "https://www.acme.example/promo" });
    },
    least: 1,
    because: "the path is taken, and the user must know that before anything is replaced",
  },
  {
    sentence: "Make a link kids to https://www.acme.example/kids for com.acme.shopp on iPhones",
    start: openShop,
    script: async ({ call }) => {
      const link = { path: "kids", url: "https://www.acme.example/kids" };
      const ios_app = { bundle_id: "com.acme.shopp" };
      const { error } = await call("create_link", { ...link, ios_app });
      // The user confirms the app that the assistant suggests.
      expect(error.problems[0].fix).toContain('did you mean "Acme Shop" (com.acme.shop)?');
      return call("create_link", { ...link, ios_app: { bundle_id: "com.acme.shop" } });
    },
    check: async ({ find, api }) => {
      expect((await find("kids")).ios_app_id).toEqual(expect.any(String));
      expect((await api("GET", "/ios_apps")).body.ios_apps).toHaveLength(2);
    },
    least: 2,
    because: "no app has the name that was said, so that the person is asked",
  },
];
