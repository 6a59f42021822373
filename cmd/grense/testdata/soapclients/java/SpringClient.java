import com.google.gson.*;
import jakarta.xml.bind.JAXBElement;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.springframework.oxm.jaxb.Jaxb2Marshaller;
import org.springframework.ws.client.core.WebServiceTemplate;
import org.springframework.ws.transport.http.HttpUrlConnection;
import org.springframework.ws.transport.context.TransportContextHolder;

/** Asks the eleven searches by Spring-WS and prints decoded values: java SpringClient WSDL KEY PACKAGE < requests.json */
public class SpringClient {
    public static void main(String[] a) throws Exception {
        Jaxb2Marshaller marshaller = new Jaxb2Marshaller();
        marshaller.setPackagesToScan(a[2].substring(0, a[2].indexOf(".service.")));
        marshaller.setCheckForXmlRootElement(false);
        marshaller.afterPropertiesSet();
        WebServiceTemplate template = new WebServiceTemplate(marshaller);
        template.setDefaultUri(a[0].replace("?wsdl", ""));
        Class<?> factory = Class.forName(a[2] + ".ObjectFactory");
        int n = 0;
        for (JsonElement e : JsonParser.parseReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).getAsJsonArray()) {
            String operation = e.getAsJsonObject().get("operation").getAsString();
            String name = operation.substring(0, 1).toUpperCase(Locale.ROOT) + operation.substring(1);
            Class<?> wrapper = Class.forName(a[2] + "." + name);
            Object bean = Client.made(wrapper, e.getAsJsonObject().getAsJsonObject("parameters"));
            Object request = factory.getMethod("create" + name, wrapper).invoke(factory.getConstructor().newInstance(), bean);
            Object answer = template.marshalSendAndReceive(request, message -> {
                HttpURLConnection c = ((HttpUrlConnection) TransportContextHolder.getTransportContext().getConnection()).getConnection();
                c.setRequestProperty("X-API-Key", a[1]);
            });
            if (answer instanceof JAXBElement<?> x) answer = x.getValue();
            List<String> out = new ArrayList<>();
            Client.flat(n++ + "." + operation, Client.fields(answer.getClass()).get("return").get(answer), out);
            Collections.sort(out);
            System.out.println(String.join("\n", out));
        }
    }
}
