import { describeApi } from "./openapi/openapi.ts";

/** The OpenAPI document of the REST API, as the source describes it. */
export const description = `${JSON.stringify(describeApi(), null, 2)}\n`;
