/** Where the pages of plans and exports are read. */

export function writePlanUri(id: string, page = 1): string {
  return `waypost://plans/${id}${page === 1 ? "" : `/${page}`}`;
}

export function writeExportUri(id: string, page = 1): string {
  return `waypost://exports/${id}/${page}`;
}

/** Undefined for an address that is neither a plan's nor an export's. */
export function readBulkUri(uri: string) {
  const [, kind, id = "", page = "1"] =
    /^waypost:\/\/(plans|exports)\/([\w-]+)(?:\/(\d{1,6}))?$/.exec(uri) ?? [];
  if (kind !== "plans" && kind !== "exports") return undefined;
  return { kind, id, page: Number(page) };
}
