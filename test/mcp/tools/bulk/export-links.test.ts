import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { saveExportFile } from "../../../../src/app/process/export-files.ts";
import { link } from "../../../contract/sample-link.ts";
import { createEmptyFolder } from "../../../support/folders.ts";
import { openForEach } from "../../../support/open-for.ts";
import { answering, openStage, type Handler, type Stage } from "../../../support/stage.ts";

/** For a client on the same machine, `export_links` also writes a file. */

let data: string;
openForEach(createEmptyFolder, ({ path }) => (data = path));

const saveFile = (type: "csv" | "json", texts: AsyncIterable<string>) =>
  saveExportFile(data, type, texts);

/** Enough links for several pages, with names that need escaping. */
const count = 1000;
const long = "x".repeat(6000);
const links = Array.from({ length: count }, (_, index) => ({
  ...link,
  id: `0190a000-0000-7000-8000-${String(index).padStart(12, "0")}`,
  name: `],[ "${index}",\n=1+1`,
  path: `p${index}`,
  social_description: long,
}));

const manyLinks: Handler = async (request) => {
  const { searchParams } = new URL(request.url);
  const [page, limit] = ["page", "limit"].map((name) => Number(searchParams.get(name)));
  const from = ((page || 1) - 1) * (limit || 20);
  const rows = links.slice(from, from + (limit || 20));
  const last = Math.ceil(count / (limit || 20));
  const next = (page || 1) < last ? { next: (page || 1) + 1 } : {};
  const meta = { page: page || 1, limit: limit || 20, count, last, from: from + 1, ...next };
  return answering(200, { links: rows, meta })(request);
};

async function readPages({ client }: Stage, uri: string, pages: number) {
  const numbers = Array.from({ length: pages }, (_, index) => String(index + 1));
  const read = numbers.map(async (page) => {
    const { contents } = await client.readResource({ uri: uri.replace(/1$/, page) });
    return (contents[0] as { readonly text: string }).text;
  });
  return Promise.all(read);
}

test.each(["csv", "json"])(
  "a %s export of several pages is written completely to one file",
  async (format) => {
    await using stage = await openStage({ send: manyLinks, probe: "off", saveFile });
    const { structured } = await stage.callTool("export_links", { format });
    const { uri, pages, file, count: written, next } = structured["export"];
    expect([written, pages > 1, file.endsWith(`.${format}`)]).toEqual([count, true, true]);
    expect(next).toBe(
      "The whole export is in `file` and in the resource at `uri` for an hour. " +
        `For the other pages, increase the last number in \`uri\`, up to ${pages}.`,
    );
    const text = await readFile(file, "utf8");
    const parts = await readPages(stage, uri, pages);
    if (format === "csv") {
      expect(text).toBe(parts.join(""));
    } else {
      const rows = parts.flatMap((part) => JSON.parse(part) as readonly unknown[]);
      expect(JSON.parse(text)).toEqual(rows);
      expect(rows).toHaveLength(count);
    }
  },
);

test.each(["csv", "json"])(
  "a %s export without links is written to a valid file",
  async (format) => {
    const meta = { page: 1, limit: 20, count: 0, last: 1 };
    const send = answering(200, { links: [], meta });
    await using stage = await openStage({ send, probe: "off", saveFile });
    const { file } = (await stage.callTool("export_links", { format })).structured["export"];
    const text = await readFile(file, "utf8");
    if (format === "json") expect(JSON.parse(text)).toEqual([]);
    else expect(text).toMatch(/^id,name,path/);
  },
);

test("export_links writes no file if the client is on another machine", async () => {
  await using stage = await openStage({ send: manyLinks, probe: "off" });
  const { structured } = await stage.callTool("export_links", {});
  expect(structured["export"]).not.toHaveProperty("file");
  expect(structured["export"].next).toMatch(/^Read the resource at `uri` within an hour\. For/);
  expect(await readdir(data)).toEqual([]);
});

const failToSave = () => Promise.resolve(undefined);

test("an export whose file cannot be written is still returned as a resource", async () => {
  await using stage = await openStage({ send: manyLinks, probe: "off", saveFile: failToSave });
  const { uri, pages, ...rest } = (await stage.callTool("export_links", {})).structured["export"];
  expect(rest).not.toHaveProperty("file");
  expect(await readPages(stage, uri, pages)).toHaveLength(pages);
});
