import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { visitAt } from "../support/link-host.ts";
import type { Task } from "./task.ts";

/** Tasks with the command on an empty folder, whose addresses must open at once. */

const setting = { isStdio: true } as const;
const page = "<h1>Boats</h1>{% store_buttons %}";

export const firstDay: readonly Task[] = [
  {
    sentence: "Give me an address that opens https://www.acme.example/boats",
    setting,
    script: async ({ call }) => {
      const { link } = await call("create_link", { url: "https://www.acme.example/boats" });
      return link.address;
    },
    check: async ({ told }) => {
      const { status, headers } = await open(told);
      expect([status, headers["location"]]).toEqual([302, "https://www.acme.example/boats"]);
    },
    least: 1,
    because: "the sentence has all of it",
  },
  {
    sentence: `Let me see how ${page} looks on a desktop`,
    setting,
    script: async ({ call }) =>
      (await call("preview_template", { body: page, platform: "desktop" })).preview_url,
    check: async ({ told }) => {
      const { status, text } = await open(told);
      expect([status, text]).toEqual([200, expect.stringContaining("Boats")]);
    },
    least: 1,
    because: "a person sees it at an address",
  },
  {
    sentence: "Make a link boats to https://www.acme.example/boats. Delete it again",
    setting: { ...setting, person: "page" },
    earlier: ({ call }) =>
      call("create_link", { path: "boats", url: "https://www.acme.example/boats" }),
    script: async ({ call, show }) => {
      const { error } = await call("delete_link", { id: "boats" });
      await show(error.approval.url);
      return call("delete_link", { id: "boats" });
    },
    check: ({ told }) => expect(told.deleted).toMatchObject({ path: "boats" }),
    least: 2,
    because: "a client without a form calls again when the person has pressed the button",
  },
  {
    sentence: "Make a link boats to https://www.acme.example/boats. Save all our links to a file",
    setting,
    earlier: ({ call }) =>
      call("create_link", { path: "boats", url: "https://www.acme.example/boats" }),
    script: async ({ call }) => (await call("export_links")).export.file,
    check: async ({ told }) => expect(await readFile(told, "utf8")).toContain("acme.example/boats"),
    least: 1,
    because: "the file is on the person's own machine",
  },
];

function open(address: string) {
  const { host, port, pathname } = new URL(address);
  return visitAt(Number(port), pathname, { host });
}
