import * as z from "zod";
import type { Endpoint } from "../../../contract/endpoint.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { addScanMark } from "../../../contract/rules/scan-mark.ts";
import { drawPng } from "../../../qr/draw-qr.ts";
import { refuseArguments } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { runEndpoint } from "./run-endpoint.ts";

/** What it takes beside the id. */
export const linkFields = {
  qr: z.boolean().optional().describe("Also return a QR code"),
} as const;

/** As every endpoint's tool; with `qr` there is also a picture of the link's address. */
export async function runGetLink(
  endpoint: Endpoint,
  { qr, ...args }: JsonObject,
  call: Call,
): Promise<JsonObject> {
  if (qr === true && call.keyContext.known.linkHost === undefined) {
    throw refuseQr(
      endpoint,
      "the link's address is unknown; the operator must set WAYPOST_LINK_ORIGIN",
    );
  }
  const result = await runEndpoint(endpoint, args, call);
  if (qr !== true) return result;
  // The link host is known, so that the link has its address if its path could be read.
  const { address } = result["link"] as { readonly address?: string };
  if (address === undefined) throw refuseQr(endpoint, "the link's path could not be read");
  // Only our own host knows the mark of a code's visit, and takes it off.
  const { facts } = call.keyContext.known;
  const picture = await drawPng(facts === undefined ? address : addScanMark(address));
  if (picture === undefined) throw refuseQr(endpoint, "the address is too long for a QR code");
  call.attachPicture({ data: picture, mimeType: "image/png" });
  return result;
}

function refuseQr({ tool }: Endpoint, message: string) {
  return refuseArguments(tool, [{ field: "qr", message }]);
}
