import { AjvJsonSchemaValidator as AjvV2 } from "@modelcontextprotocol/client/validators/ajv";
import { AjvJsonSchemaValidator as AjvV1 } from "@modelcontextprotocol/sdk/validation/ajv";

/**
 * What the official clients hold results against. By themselves they compile every tool's schema
 * for each client anew, which is most of the work of a short test; here each text of a schema is
 * compiled once.
 */

type Provider = { readonly getValidator: (schema: object) => unknown };

function compileOnce<Given extends Provider>(provider: Given): Given {
  const known = new Map<string, unknown>();
  const getValidator = (schema: object): unknown => {
    const text = JSON.stringify(schema);
    const validator = known.get(text) ?? provider.getValidator(schema);
    known.set(text, validator);
    return validator;
  };
  // Its one method answers what the provider's own has answered.
  return { getValidator } as unknown as Given;
}

export const validatorV1: Provider & AjvV1 = compileOnce(new AjvV1());
export const validatorV2: Provider & AjvV2 = compileOnce(new AjvV2());
