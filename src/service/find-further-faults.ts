import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { Problem, templateRefused, validationFailed, type FieldProblem } from "../contract/problem.ts";
import { isStoreToken } from "../contract/rules/link-rules.ts";
import type { Store } from "../store/store.ts";

