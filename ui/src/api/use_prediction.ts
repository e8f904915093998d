import type { Prediction } from "./forecasts";
import { type Answered, useAnswer } from "./use_answer";

/** Prices are per this number of steps. */
export const PRICED_STEPS = 1000;

/**
 * Returns the prediction for all GPUs, with prices if the trace has steps.
 *
 * @param asks  false: requests nothing
 */
export function usePrediction(asks = true): Answered<Prediction> {
  const priced = useAnswer<Prediction>(asks ? `predict?total-steps=${PRICED_STEPS}` : null);
  const plain = useAnswer<Prediction>(priced.error !== "" ? "predict" : null); // No steps: no price.
  const answered = priced.answer !== null || priced.error === "" ? priced : plain;
  const abstained = answered.answer?.abstained[0];
  return abstained === undefined ? answered : { ...answered, answer: null, error: abstained.why };
}
