import { expect } from "vitest";
import { sha256 } from "../contract/sample-link.ts";
import { openShop } from "./shop.ts";
import type { Task } from "./task.ts";

/** Tasks about the apps that links open. */

const asked = "the form that asks is a part of the call";
const whole = "the sentence has all of it";

export const apps: readonly Task[] = [
  {
    sentence: "Which apps do we have?",
    start: openShop,
    script: async ({ call }) => {
      const { ios_apps } = await call("list_ios_apps");
      const { android_apps } = await call("list_android_apps");
      return [...ios_apps, ...android_apps].map(({ name }) => name);
    },
    check: ({ told }) => expect(told.toSorted()).toEqual(["Acme Legacy", "Acme Shop", "Acme Shop"]),
    least: 2,
    because: "each platform has a list of its own",
  },
  {
    sentence:
      "Register our iOS app com.acme.kids; the team is FGHIJ67890 and it is called Acme Kids",
    start: openShop,
    script: ({ call }) =>
      call("register_ios_app", {
        bundle_id: "com.acme.kids",
        team_id: "FGHIJ67890",
        name: "Acme Kids",
      }),
    check: async ({ api, asked: shown }) => {
      const { body } = await api("GET", "/ios_apps?q[bundle_id_eq]=com.acme.kids");
      expect(body.ios_apps).toMatchObject([{ name: "Acme Kids", team_id: "FGHIJ67890" }]);
      expect(shown.join()).toContain("com.acme.kids");
    },
    least: 1,
    because: asked,
  },
  {
    sentence: `Add the Android app com.acme.kids, certificate ${sha256}`,
    start: openShop,
    script: ({ call }) =>
      call("register_android_app", { package_name: "com.acme.kids", fingerprints: [sha256] }),
    check: async ({ api }) => {
      const { body } = await api("GET", "/android_apps?q[package_name_eq]=com.acme.kids");
      expect(body.android_apps).toHaveLength(1);
    },
    least: 1,
    because: asked,
  },
  {
    sentence: "The iOS app com.acme.legacy is called Acme Classic now",
    start: openShop,
    script: ({ call }) => call("update_ios_app", { id: "com.acme.legacy", name: "Acme Classic" }),
    check: async ({ api }) => {
      const { body } = await api("GET", "/ios_apps?q[name_eq]=Acme+Classic");
      expect(body.ios_apps).toHaveLength(1);
    },
    least: 1,
    because: whole,
  },
  {
    sentence: "The app was renamed: com.acme.shop is Acme Store on both platforms",
    start: openShop,
    script: async ({ call }) => {
      await call("update_ios_app", { id: "com.acme.shop", name: "Acme Store" });
      await call("update_android_app", { id: "com.acme.shop", name: "Acme Store" });
    },
    check: async ({ api }) => {
      const ios = await api("GET", "/ios_apps?q[name_eq]=Acme+Store");
      const android = await api("GET", "/android_apps?q[name_eq]=Acme+Store");
      expect([ios.body.ios_apps, android.body.android_apps]).toMatchObject([[{}], [{}]]);
    },
    least: 2,
    because: "two apps are changed",
  },
  {
    sentence: "What is the team of com.acme.shop?",
    start: openShop,
    script: async ({ call }) =>
      (await call("get_ios_app", { id: "com.acme.shop" })).ios_app.team_id,
    check: ({ told }) => expect(told).toBe("ABCDE12345"),
    least: 1,
    because: "one thing is read",
  },
  {
    sentence: "Which scheme opens the Android app com.acme.shop?",
    start: openShop,
    script: async ({ call }) =>
      (await call("get_android_app", { id: "com.acme.shop" })).android_app.custom_scheme,
    check: ({ told }) => expect(told).toBe("acme"),
    least: 1,
    because: "one thing is read",
  },
  {
    sentence: "We have a second certificate for com.acme.shop, AA:BB:CC; keep the old one",
    start: openShop,
    script: async ({ call }) => {
      const id = "com.acme.shop";
      const { android_app } = await call("get_android_app", { id });
      const fingerprints = [...android_app.fingerprints, "AA:BB:CC"];
      return call("update_android_app", { id, fingerprints });
    },
    check: async ({ api, asked: shown }) => {
      const { body } = await api("GET", "/android_apps?q[package_name_eq]=com.acme.shop");
      expect(body.android_apps[0].fingerprints).toEqual([sha256, "AA:BB:CC"]);
      expect(shown).toHaveLength(1);
    },
    least: 2,
    because: "a list that is replaced is read first",
  },
  {
    sentence: "We no longer have an Android app: delete com.acme.shop there",
    start: openShop,
    script: ({ call }) => call("delete_android_app", { id: "com.acme.shop" }),
    check: async ({ api }) =>
      expect((await api("GET", "/android_apps")).body.android_apps).toEqual([]),
    least: 1,
    because: asked,
  },
];
