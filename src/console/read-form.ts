import {
  readAtMost,
  type ReadKeyless,
  type Incoming,
  type WithBody,
} from "../network/read-body.ts";
import { createForm, type Form } from "./page.ts";

/** Reads the fields of a submitted form, and its file if it has one. */

/** Large enough for the longest page template. */
const bodyBytes = 1024 * 1024;
/** The same limit as for files from assistants. */
export const mostFileBytes = 4_000_000;
const uploadBytes = mostFileBytes + 64 * 1024;
/** Far more fields than any form has. Parsing more would be slow. */
const mostFields = 2000;

type FormRequest = { readonly request: Request; readonly incoming: Incoming | undefined };

export type FormRejection = "foreign" | "too long" | "broken" | "busy";

export function isUpload({ headers }: Request): boolean {
  return /^multipart\/form-data\b/i.test(headers.get("content-type") ?? "");
}

export async function readForm(
  { request, incoming }: FormRequest,
  read: (message: WithBody) => ReturnType<ReadKeyless> = (message) =>
    readAtMost(message, bodyBytes),
): Promise<Form | FormRejection> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return "foreign";
  const bytes = await read(incoming ?? request);
  if (bytes === "busy") return "busy";
  if (bytes === undefined || hasTooMany(bytes)) return "too long";
  return createForm(new URLSearchParams(bytes.toString("utf8")));
}

/** Counts the fields before parsing, because anyone can send a body with many fields. */
function hasTooMany(bytes: Buffer): boolean {
  let at = -1;
  for (let count = 0; count <= mostFields; count += 1) {
    at = bytes.indexOf("&", at + 1);
    if (at === -1) return false;
  }
  return true;
}

export async function readUpload({
  request,
  incoming,
}: FormRequest): Promise<Form | FormRejection> {
  const bytes = await readAtMost(incoming ?? request, uploadBytes);
  if (bytes === undefined) return "too long";
  const type = request.headers.get("content-type") ?? "";
  const data = await readData(bytes, type);
  if (data === undefined) return "broken";
  const params = new URLSearchParams();
  let file: File | undefined;
  for (const [name, value] of data) {
    if (typeof value === "string") params.append(name, value);
    else file ??= value;
  }
  // If the user chose no file, browsers send an empty one.
  if (file === undefined || file.size === 0) return createForm(params);
  const upload = { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  return createForm(params, upload);
}

/** Returns undefined if the body is not valid form data. */
function readData(bytes: Buffer, type: string): Promise<FormData | undefined> {
  const sent = new Response(bytes, { headers: { "content-type": type } });
  return sent.formData().catch(() => undefined);
}
