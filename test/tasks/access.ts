import { expect } from "vitest";
import { openShop } from "./shop.ts";
import type { Result, Task } from "./task.ts";

/** Tasks about the rights of a key, and the projects of a master key. */

const linksOnly = [
  "links.index",
  "links.show",
  "links.create",
  "links.update",
  "links.destroy",
] as const;

export const access: readonly Task[] = [
  {
    sentence: "What may I do here?",
    start: openShop,
    script: async ({ call }) => (await call("explain_access")).access,
    check: ({ told }) => {
      expect(told).toMatchObject({ kind: "project", mode: "guarded", role: "owner" });
      expect(told.granted).toContain("apply_plan");
      expect(told.asks).toContain("apply_plan");
    },
    least: 1,
    because: "one question answers it",
    onSpecified: {
      check: ({ told }) => {
        expect(told).toMatchObject({ kind: "project", mode: "guarded" });
        expect(told.granted).toContain("apply_plan");
        expect(told.asks).toContain("apply_plan");
      },
      because: "no endpoint is specified for the role of a key",
    },
  },
  {
    sentence: "May this key change our apps?",
    start: openShop,
    setting: { scopes: linksOnly },
    script: async ({ call }) => (await call("explain_access")).access,
    check: ({ told }) => {
      const reasons = told.denied.filter(({ tools }: Result) => tools.includes("update_ios_app"));
      expect(reasons).toMatchObject([{ reason: expect.stringContaining("ios_apps.update") }]);
    },
    least: 1,
    because: "one question answers it",
  },
  {
    sentence: "Register the iOS app com.acme.kids of team FGHIJ67890",
    start: openShop,
    setting: { scopes: linksOnly, remembers: ["register_ios_app"] },
    script: async ({ call }) => {
      const app = { bundle_id: "com.acme.kids", team_id: "FGHIJ67890" };
      return (await call("register_ios_app", app)).error;
    },
    check: ({ told }) => {
      expect(told).toMatchObject({ code: "scope_missing", effect: "none" });
      expect(told.message + told.next).toContain("ios_apps.create");
    },
    least: 1,
    because: "the refusal says why",
  },
  {
    sentence: "Name the summer link Beach",
    start: openShop,
    setting: { scopes: linksOnly },
    script: ({ call }) => call("update_link", { id: "summer", name: "Beach" }),
    check: async ({ find }) => expect(await find("summer")).toMatchObject({ name: "Beach" }),
    least: 1,
    because: "links are this key's business",
  },
  {
    sentence: "Delete the spring link",
    start: openShop,
    setting: { mode: "read-only", remembers: ["delete_link"] },
    script: async ({ call }) => (await call("delete_link", { id: "spring" })).error,
    check: async ({ told, find }) => {
      expect(told.message).toContain("read-only");
      expect(told.next).toContain("WAYPOST_MODE");
      expect(await find("spring")).toBeDefined();
    },
    least: 1,
    because: "the refusal says why",
  },
  {
    sentence: "Which projects are there?",
    setting: { isMaster: true },
    script: async ({ call }) =>
      (await call("list_projects")).projects.map(({ name }: Result) => name),
    check: ({ told }) => expect(told).toEqual(["Default"]),
    least: 1,
    because: "one list answers it",
  },
  {
    sentence: "Make a project Beta for beta-links",
    setting: { isMaster: true },
    script: ({ call }) => call("create_project", { name: "Beta", subdomain: "beta-links" }),
    check: ({ told }) => expect(told.project).toMatchObject({ subdomain: "beta-links" }),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Call the default project Acme",
    setting: { isMaster: true },
    script: ({ call }) => call("update_project", { id: "default", name: "Acme" }),
    check: ({ told }) => expect(told.project.name).toBe("Acme"),
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: "Make a project Beta for beta-links. What are its settings?",
    setting: { isMaster: true },
    earlier: async ({ call }) =>
      (await call("create_project", { name: "Beta", subdomain: "beta-links" })).project,
    script: async ({ call }, { id }) => (await call("get_project", { id })).project,
    check: ({ told }) => expect(told).toMatchObject({ name: "Beta", subdomain: "beta-links" }),
    least: 1,
    because: "the project was named when it was made",
  },
  {
    sentence: "Delete the default project with all its links",
    start: openShop,
    setting: { isMaster: true },
    script: ({ call }) => call("delete_project", { id: "default" }),
    check: ({ told, asked }) => {
      expect(told.deleted).toMatchObject({ name: "Default" });
      expect(asked.join()).toContain("links: 9");
    },
    least: 1,
    because: "the form that asks is a part of the call",
    onAltering: {
      check: ({ told, asked }) => {
        expect(told.deleted).toMatchObject({ name: "Default" });
        expect(asked.join()).toContain("links: could not be counted");
      },
      because: "the server's count has the wrong type",
    },
  },
];
