import * as z from "zod";
import { exportFormats, joinPages } from "../../../bulk/files/write-links.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import type { KeyContext } from "../../access/key-context.ts";
import {
  listFields,
  shownFilters,
  shownSearch,
  type ToolFields,
} from "../../schemas/input-schema.ts";
import { problems } from "../../schemas/output-schema.ts";
import { makeTool, type Tool } from "../tool.ts";
import { writeExportUri } from "./show-plan.ts";

/** The tool that exports links to a CSV or JSON file. */

const { links } = contract;

export function createExportLinks(): Tool {
  return makeTool({
    group: "bulk",
    name: "export_links",
    title: "Export links",
    description:
      "Export all links, or those that match filters, to a CSV or JSON file: " +
      "a resource to read page by page.",
    effect: "read",
    like: { what: "Filters", tool: links.index.tool },
    readAccess: (access) => access.read(links.index),
    fields: listOwnFields,
    result: () => ({
      export: z.looseObject({
        uri: z.string(),
        count: z.int(),
        format: z.enum(exportFormats),
        pages: z.int(),
        file: z.string().optional(),
      }),
      problems,
    }),
    run: async (args, call) => {
      const { filters = [], search, format = usual } = args as ExportArguments;
      const { keyContext: owner, signal } = call;
      const wanted = { filters, search, format };
      const { id, count, pages, lacks } = await owner.bulk.exportLinks(wanted, owner, signal);
      const whole = joinPages(readPages({ id, pages }, owner), format);
      const file = await owner.saveFile?.(format, whole);
      const next = describeNext(pages, file);
      const uri = writeExportUri(id);
      const exported = { uri, count, format, pages, ...(file !== undefined && { file }), next };
      call.problems.push(...lacks.map((message) => ({ message })));
      return { export: exported };
    },
  });
}

type WrittenExport = { readonly id: string; readonly pages: number };

async function* readPages({ id, pages }: WrittenExport, owner: KeyContext) {
  for (let page = 1; page <= pages; page += 1) {
    const found = await owner.bulk.findExport(id, page, owner);
    if (found === undefined) throw new Error("a page of the export is missing");
    yield found.text;
  }
}

const usual = "csv";

function listOwnFields(isTerse: boolean): ToolFields {
  const { filters, search } = listFields(links.index, { idText: "" });
  const format = z.enum(exportFormats).meta({ default: usual });
  return {
    ...(filters && { filters: isTerse ? shownFilters() : filters }),
    ...(search && { search: isTerse ? shownSearch() : search }),
    format: format.optional(),
  };
}

function describeNext(pages: number, file: string | undefined): string {
  const others =
    pages === 1 ? "" : ` For the other pages, increase the last number in \`uri\`, up to ${pages}.`;
  return file === undefined
    ? `Read the resource at \`uri\` within an hour.${others}`
    : `The whole export is in \`file\` and in the resource at \`uri\` for an hour.${others}`;
}

type ExportArguments = {
  readonly filters?: readonly FilterInput[];
  readonly search?: string;
  readonly format?: (typeof exportFormats)[number];
};
