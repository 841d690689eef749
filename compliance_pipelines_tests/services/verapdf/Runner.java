// Validates PDF files with veraPDF: `java -cp ... Runner.java FLAVOUR FILE...` (flavour: 3b, 3a, ua1...).
// One line a file: "valid FILE" or "invalid FILE", then one line a failed rule: "  CLAUSE-TEST xCOUNT MESSAGE | CONTEXT".
// Exit code 0 when every file is valid, 1 when one is not, 2 when veraPDF could not decide.

import java.io.FileInputStream;
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider;
import org.verapdf.pdfa.Foundries;
import org.verapdf.pdfa.PDFAParser;
import org.verapdf.pdfa.PDFAValidator;
import org.verapdf.pdfa.flavours.PDFAFlavour;
import org.verapdf.pdfa.results.TestAssertion;
import org.verapdf.pdfa.results.ValidationResult;

public final class Runner {
    private Runner() {
    }

    public static void main(String[] args) {
        VeraGreenfieldFoundryProvider.initialise();
        PDFAFlavour flavour = PDFAFlavour.byFlavourId(args[0]);
        boolean all = true;
        for (int index = 1; index < args.length; index++) {
            try {
                all &= check(flavour, args[index]);
            } catch (Exception error) {
                System.out.println("undecided " + args[index] + " " + error);
                System.exit(2);
            }
        }
        System.exit(all ? 0 : 1);
    }

    private static boolean check(PDFAFlavour flavour, String name) throws Exception {
        try (InputStream stream = new FileInputStream(name);
                PDFAParser parser = Foundries.defaultInstance().createParser(stream, flavour);
                PDFAValidator validator = Foundries.defaultInstance().createValidator(flavour, false)) {
            ValidationResult result = validator.validate(parser);
            System.out.println((result.isCompliant() ? "valid " : "invalid ") + name);
            Map<String, Integer> counts = new LinkedHashMap<>();
            Map<String, String> details = new LinkedHashMap<>();
            for (TestAssertion assertion : result.getTestAssertions()) {
                if (assertion.getStatus() == TestAssertion.Status.FAILED) {
                    String rule = assertion.getRuleId().getClause() + "-" + assertion.getRuleId().getTestNumber();
                    counts.merge(rule, 1, Integer::sum);
                    details.putIfAbsent(rule, assertion.getMessage() + " | " + assertion.getLocation().getContext());
                }
            }
            counts.forEach((rule, count) ->
                System.out.println("  " + rule + " x" + count + " " + details.get(rule)));
            return result.isCompliant();
        }
    }
}
